"""Merge what a client sends with what others wrote since. Nothing here reads or writes the database."""

from collections.abc import Sequence
from uuid import UUID

from apps.proxy.matching.alignment import align
from apps.proxy.matching.keys import unspaced_key
from apps.proxy.matching.pairing import Texts, no_texts, pair_turns
from apps.proxy.matching.plans import Entry, Plan
from apps.proxy.requests.turns import Turn


def plan_changes(
    entries: Sequence[Entry],
    turns: Sequence[Turn],
    keys: Sequence[int],
    *,
    follows: bool = False,
    speaker: str = "",
    texts: Texts = no_texts,
) -> Plan:
    """Return the changes that the client made. ``keys`` are those of the turns, ``texts`` returns those of messages.

    Messages before the first one that the client sends are kept, and so is a gap of more than MAX_MISSING exchanges:
    its context may be too small for them. With ``follows``, such a gap is deleted. If the client ends with a turn that
    has a reply, the reply is kept: it will get another swipe. If that turn is itself a reply, the one after it is kept
    if it is of ``speaker``, who is asked.
    """
    plan = Plan(matched=align([unspaced_key(entry.key) for entry in entries], list(map(unspaced_key, keys))))
    pairs, kept = pair_turns(entries, turns, plan.matched, follows=follows, texts=texts)
    last_place = {number: place for place, number in pairs}.get(len(turns) - 1)
    pairs = [pair for pair in pairs if not _is_gone(entries[pair[0]], pair[1], turns, keys)]
    by_turn = {number: place for place, number in pairs}
    last = max((place for place, _ in plan.matched + pairs), default=-1)
    if last_place == last and last >= 0:
        reply_place = _reply_of(entries, last)
        last = reply_place if turns[-1].is_user or entries[reply_place].name == speaker != "" else last
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
    plan.tail = sum(entries[place].is_stored for place in dropped if place > last)
    plan.last_kept = next((entry.id for entry in reversed(entries[: last + 1]) if entry.is_stored), None)
    for place, number in pairs:
        _change(plan, entries[place], turns[number], keys[number])
    reply = entries[last].id if last_place is not None and last > last_place and entries[last].is_stored else None
    _add_new(plan, entries, turns, by_turn, reply)
    anchor = by_turn.get(len(turns) - 1)
    plan.anchor = None if anchor is None else entries[anchor].id
    plan.known = _known(entries, keys, by_place, by_turn, set(dropped))
    return plan


def _is_equal(key: int, other: int) -> bool:
    return unspaced_key(key) == unspaced_key(other)


def _is_gone(entry: Entry, number: int, turns: Sequence[Turn], keys: Sequence[int]) -> bool:
    """Return whether a turn is new although its message was known: that was deleted by somebody else.

    A turn that the client still sends as it was stays deleted, unless it is the last, to which it wants a reply.
    """
    return not entry.is_stored and (not _is_equal(entry.key, keys[number]) or number == len(turns) - 1)


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
        changed = plan.respaced if _is_equal(entry.key, key) else plan.edits
        changed.append((entry, turn))


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
