"""Merge what a client sends with what others wrote since. Nothing here reads or writes the database."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from apps.proxy.alignment import align
from apps.proxy.conversation import Turn

MAX_MISSING = 2  # exchanges that a client deletes at once in the middle; what is more was left out of its context


@dataclass(frozen=True)
class Entry:
    """A message of a chat. ``key`` identifies its speaker and its text as the client has it, see ``key_of``.

    ``is_known``: the client has sent or received it. ``is_fixed``: the client's history neither changes nor deletes
    it, since it was written by somebody else or is hidden. ``is_stored`` is False if somebody else has deleted it.
    """

    id: UUID
    key: int
    is_known: bool = True
    is_fixed: bool = False
    is_stored: bool = True

    @property
    def is_user(self) -> bool:
        return bool(self.key & 1)


@dataclass
class Plan:
    """What a client has changed since its last request, to be applied to the stored messages.

    ``matched`` are positions of equal entries and turns, ``edits`` entries with the turns that replace their texts. Of
    these, ``selected`` have the text as one of their swipes already. ``insertions`` are turns with the message that
    they precede. ``anchor`` is the message of the last turn, None if that is new. ``known`` are afterwards the
    messages that the client has, with their keys; None stands for a new message. ``cut`` counts user messages that the
    client dropped from the end, ``last_kept`` is the last message before them.
    """

    matched: list[tuple[int, int]] = field(default_factory=list)
    edits: list[tuple[Entry, Turn]] = field(default_factory=list)
    selected: set[UUID] = field(default_factory=set)
    tools: dict[UUID, Turn] = field(default_factory=dict)
    deletions: list[UUID] = field(default_factory=list)
    insertions: list[tuple[UUID, Turn]] = field(default_factory=list)
    appended: list[Turn] = field(default_factory=list)
    anchor: UUID | None = None
    known: list[tuple[UUID | None, int]] = field(default_factory=list)
    cut: int = 0
    last_kept: UUID | None = None

    @property
    def equal(self) -> int:
        """Return the number of turns that are equal to a message or a swipe of it."""
        return len(self.matched) + len(self.selected)

    @property
    def changes(self) -> int:
        """Return the number of changes besides new turns at the end and another choice of swipes."""
        return len(self.edits) - len(self.selected) + len(self.deletions) + len(self.insertions)


def plan_changes(
    entries: Sequence[Entry], turns: Sequence[Turn], keys: Sequence[int], *, follows: bool = False
) -> Plan:
    """Return the changes that the client made. ``keys`` are those of the turns.

    Messages before the first one that the client sends are kept, and so is a gap of more than MAX_MISSING exchanges:
    its context may be too small for them. With ``follows``, such a gap is deleted. If the client ends with a turn that
    has a reply, the reply is kept: it will get another swipe.
    """
    plan = Plan(matched=align([entry.key for entry in entries], keys))
    pairs, kept = _pairs(entries, turns, plan.matched, follows=follows)
    last_place = {number: place for place, number in pairs}.get(len(turns) - 1)
    pairs = [pair for pair in pairs if not _is_gone(entries[pair[0]], pair[1], turns, keys)]
    by_turn = {number: place for place, number in pairs}
    last = max((place for place, _ in plan.matched + pairs), default=-1)
    if last_place == last and last >= 0 and turns[-1].is_user:
        last = _reply_of(entries, last)
    by_place = dict(plan.matched) | dict(pairs)
    dropped = [
        place
        for place, entry in enumerate(entries)
        if entry.is_known and not entry.is_fixed and place not in by_place and place not in kept and place != last
    ]
    if not plan.matched:
        dropped = []
    plan.deletions = [entries[place].id for place in dropped if entries[place].is_stored]
    plan.cut = sum(entries[place].is_user for place in dropped if place > last)
    plan.last_kept = next((entry.id for entry in reversed(entries[: last + 1]) if entry.is_stored), None)
    for place, number in pairs:
        _change(plan, entries[place], turns[number], keys[number])
    reply = entries[last].id if last_place is not None and last > last_place and entries[last].is_stored else None
    _add_new(plan, entries, turns, by_turn, reply)
    anchor = by_turn.get(len(turns) - 1)
    plan.anchor = None if anchor is None else entries[anchor].id
    plan.known = _known(entries, keys, by_place, by_turn, set(dropped))
    return plan


def is_same_chat(turns: Sequence[Turn], plan: Plan, *, same_opening: bool) -> bool:
    """Return whether the turns are of the chat that they were compared with, and of no other with equal words.

    A greeting alone is shared by all chats of a character. One user message may be, so the system prompt decides.
    Two conversations may have short messages in common, such as "Continue", so most of what is compared must be equal,
    and under another system prompt nearly all.
    """
    numbers = {number for _, number in plan.matched}
    if plan.changes * (1 if same_opening else 5) >= max(plan.equal, 1):
        return False
    user_turns = sum(turns[number].is_user for number in numbers)
    if user_turns >= 2:
        return True
    if user_turns == 0 or 0 not in numbers or plan.cut:
        return False
    return plan.equal >= 2 or same_opening


def _is_gone(entry: Entry, number: int, turns: Sequence[Turn], keys: Sequence[int]) -> bool:
    """Return whether a turn is new although its message was known: that was deleted by somebody else.

    A turn that the client still sends as it was stays deleted, unless it is the last, to which it wants a reply.
    """
    return not entry.is_stored and (entry.key != keys[number] or number == len(turns) - 1)


def _pairs(
    entries: Sequence[Entry], turns: Sequence[Turn], matched: Sequence[tuple[int, int]], *, follows: bool
) -> tuple[list[tuple[int, int]], set[int]]:
    """Return the equal turns, between them those that the client has edited, and the places it left out."""
    pairs = list(matched)
    kept: set[int] = set()
    starts = [(-1, -1), *matched]
    ends = [*matched, (len(entries), len(turns))]
    for (start, turn_start), (end, turn_end) in zip(starts, ends, strict=True) if matched else ():
        places = [place for place in range(start + 1, end) if entries[place].is_known and not entries[place].is_fixed]
        numbers = list(range(turn_start + 1, turn_end))
        missing = sum(entries[place].is_user for place in places) - sum(turns[number].is_user for number in numbers)
        is_inside = start >= 0 and end < len(entries)
        left_out = start < 0 or (is_inside and missing > MAX_MISSING and not follows)
        if left_out:
            # What the client no longer sends is further back.
            pairs += _pair_gap(entries, turns, places[::-1], numbers[::-1])
            kept.update(places)
        else:
            pairs += _pair_gap(entries, turns, places, numbers)
    return sorted(pairs), kept


def _pair_gap(
    entries: Sequence[Entry], turns: Sequence[Turn], places: Iterable[int], numbers: Iterable[int]
) -> list[tuple[int, int]]:
    """Pair turns with entries of the same speaker, in order."""
    pairs: list[tuple[int, int]] = []
    remaining = iter(places)
    for number in numbers:
        skipped: list[int] = []
        for place in remaining:
            if entries[place].is_user == turns[number].is_user:
                pairs.append((place, number))
                break
            skipped.append(place)
        else:
            remaining = iter(skipped)  # nobody's turn: the next one may be of the other speaker
    return pairs


def _reply_of(entries: Sequence[Entry], last: int) -> int:
    """Return the place of the reply that the client knows to the turn at ``last``, or ``last``."""
    following = next((place for place in range(last + 1, len(entries)) if entries[place].is_known), None)
    return last if following is None or entries[following].is_user else following


def _change(plan: Plan, entry: Entry, turn: Turn, key: int) -> None:
    if not entry.is_stored:
        return
    if turn.tools:
        plan.tools[entry.id] = turn
    if entry.key != key:
        plan.edits.append((entry, turn))


def _add_new(
    plan: Plan, entries: Sequence[Entry], turns: Sequence[Turn], by_turn: dict[int, int], following: UUID | None
) -> None:
    """Plan the turns that have no message: before the next one that has, before ``following``, or at the end."""
    for number in reversed(range(len(turns))):
        place = by_turn.get(number)
        if place is not None:
            following = entries[place].id if entries[place].is_stored else following
        elif following is None:
            plan.appended.insert(0, turns[number])
        else:
            plan.insertions.insert(0, (following, turns[number]))


def _known(
    entries: Sequence[Entry],
    keys: Sequence[int],
    by_place: dict[int, int],
    by_turn: dict[int, int],
    dropped: set[int],
) -> list[tuple[UUID | None, int]]:
    """Return the messages that the client has from now on, in order; None for a new one."""
    known: list[tuple[UUID | None, int]] = []
    number = 0
    for place, entry in enumerate(entries):
        own = by_place.get(place)
        if own is not None and by_turn.get(own) == place:
            known += [(None, key) for key in keys[number:own]]
            known.append((entry.id, keys[own]))
            number = own + 1
        elif own is None and entry.is_known and place not in dropped:
            known.append((entry.id, entry.key))
    return known + [(None, key) for key in keys[number:]]
