"""Merge what a client sends with what others wrote since. Nothing here reads or writes the database."""

from collections.abc import Sequence
from uuid import UUID

from apps.proxy.matching.alignment import align
from apps.proxy.matching.keys import unspaced_key
from apps.proxy.matching.pairing import pair_turns
from apps.proxy.matching.plans import ChangePlan, ComparedMessage, KeyedRequest, ShownTexts
from apps.proxy.requests.turns import Turn


def plan_changes(messages: Sequence[ComparedMessage], request: KeyedRequest, shown: ShownTexts) -> ChangePlan:
    """Return the changes that the client made.

    Messages before the first one that the client sends are kept, and so is a gap of more than MAX_MISSING exchanges:
    its context may be too small for them. If the client follows deletions, such a gap is deleted. A message that
    somebody else has changed since the client had it is kept. If the client ends with a turn that has a reply, the
    reply is kept: it will get another swipe. If that turn is itself a reply, the one after it is kept if it is of the
    speaker who is asked.
    """
    turns, keys = request.turns, request.keys
    plan = ChangePlan(matched=align([unspaced_key(one.key) for one in messages], list(map(unspaced_key, keys))))
    pairs, kept = pair_turns(messages, turns, plan.matched, follows=request.sent.follows, texts=shown.of)
    last_place = {number: place for place, number in pairs}.get(len(turns) - 1)
    pairs = [pair for pair in pairs if not _is_gone(messages[pair[0]], pair[1], turns, keys)]
    by_turn = {number: place for place, number in pairs}
    last = max((place for place, _ in plan.matched + pairs), default=-1)
    if last_place == last and last >= 0:
        reply_place = _reply_of(messages, last)
        last = reply_place if turns[-1].is_user or messages[reply_place].name == request.asked != "" else last
    by_place = dict(plan.matched) | dict(pairs)
    dropped = [
        place
        for place, one in enumerate(messages if plan.matched else ())
        if one.is_known and not one.is_fixed and place not in by_place and place not in kept and place != last
    ]
    # Only for these it matters what others have changed: to look up all messages of a long chat would take long.
    changed = shown.changed([messages[place] for place in dropped if messages[place].is_stored])
    dropped = [place for place in dropped if messages[place].id not in changed]
    plan.deletions = [messages[place].id for place in dropped if messages[place].is_stored]
    plan.cut = sum(messages[place].is_user for place in dropped if place > last)
    plan.tail = sum(messages[place].is_stored for place in dropped if place > last)
    plan.last_kept = next((one.id for one in reversed(messages[: last + 1]) if one.is_stored), None)
    for place, number in pairs:
        _change(plan, messages[place], turns[number], keys[number])
    reply = messages[last].id if last_place is not None and last > last_place and messages[last].is_stored else None
    _add_new(plan, messages, turns, by_turn, reply)
    anchor = by_turn.get(len(turns) - 1)
    plan.anchor = None if anchor is None else messages[anchor].id
    plan.known = _known(messages, keys, by_place, by_turn, set(dropped))
    return plan


def _is_equal(key: int, other: int) -> bool:
    return unspaced_key(key) == unspaced_key(other)


def _is_gone(message: ComparedMessage, number: int, turns: Sequence[Turn], keys: Sequence[int]) -> bool:
    """Return whether a turn is new although its message was known: that was deleted by somebody else.

    A turn that the client still sends as it was stays deleted, unless it is the last, to which it wants a reply.
    """
    return not message.is_stored and (not _is_equal(message.key, keys[number]) or number == len(turns) - 1)


def _reply_of(messages: Sequence[ComparedMessage], last: int) -> int:
    """Return the place of the reply that the client knows to the turn at ``last``, or ``last``."""
    following = next((place for place in range(last + 1, len(messages)) if messages[place].is_known), None)
    return last if following is None or messages[following].is_user else following


def _change(plan: ChangePlan, message: ComparedMessage, turn: Turn, key: int) -> None:
    if not message.is_stored:
        return
    if turn.tools:
        plan.tools[message.id] = turn
    if message.key != key:
        changed = plan.respaced if _is_equal(message.key, key) else plan.edits
        changed.append((message, turn))


def _add_new(
    plan: ChangePlan,
    messages: Sequence[ComparedMessage],
    turns: Sequence[Turn],
    by_turn: dict[int, int],
    following: UUID | None,
) -> None:
    """Plan the turns that have no message: before the next one that has, before ``following``, or at the end."""
    for number in reversed(range(len(turns))):
        place = by_turn.get(number)
        if place is not None:
            following = messages[place].id if messages[place].is_stored else following
        elif following is None:
            plan.appended.insert(0, turns[number])
        else:
            plan.insertions.insert(0, (following, turns[number]))


def _known(
    messages: Sequence[ComparedMessage],
    keys: Sequence[int],
    by_place: dict[int, int],
    by_turn: dict[int, int],
    dropped: set[int],
) -> list[tuple[UUID | None, int]]:
    """Return the messages that the client has from now on, in order; None for a new one."""
    known: list[tuple[UUID | None, int]] = []
    number = 0
    for place, message in enumerate(messages):
        own = by_place.get(place)
        if own is not None and by_turn.get(own) == place:
            known += [(None, key) for key in keys[number:own]]
            known.append((message.id, keys[own]))
            number = own + 1
        elif own is None and message.is_known and place not in dropped:
            known.append((message.id, message.key))
    return known + [(None, key) for key in keys[number:]]
