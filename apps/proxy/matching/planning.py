"""Plan what a request changes in a chat, where others may have written since. Nothing here touches the database."""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from uuid import UUID

from apps.proxy.matching.aligning import Pairs, align, unique_pairs
from apps.proxy.matching.keys import unspaced_key
from apps.proxy.matching.pairing import pair_turns
from apps.proxy.matching.plans import ChangePlan, ComparedMessage, DroppedEnd, KeyedRequest, ShownTexts
from apps.proxy.requests.turns import Turn

SWIPED = 40  # the latest replies of which the client may show another swipe, besides other changes


@dataclass(frozen=True)
class _Pairing:
    """Which turn is which message, by their numbers and places, and which messages the client has ``dropped``.

    ``by_turn`` has no turns that are new, though their messages are known. ``last`` is the last message that the client
    keeps, ``asked`` that of its last turn, None if that is new.
    """

    by_turn: dict[int, int]
    by_place: dict[int, int]
    dropped: list[int]
    last: int
    asked: int | None


def plan_changes(messages: Sequence[ComparedMessage], request: KeyedRequest, shown: ShownTexts) -> ChangePlan:
    """Return the changes that the client made.

    Messages before the first one that the client sends are kept, and so is a gap of more than MAX_MISSING exchanges:
    its context may be too small for them. If the client follows deletions, such a gap is deleted. A message that
    somebody else has changed since the client had it is kept. If the client ends with a turn that has a reply, the
    reply is kept: it will get another swipe. If that turn is itself a reply, the one after it is kept if it is of the
    speaker who is asked.
    """
    turns, keys = request.turns, request.keys
    sent = list(map(unspaced_key, keys))
    aligned = align(_keys_of(messages, sent, shown), sent)
    plan = ChangePlan(matched=[pair for pair in aligned if _is_equal(messages[pair[0]].key, keys[pair[1]])])
    aligned = aligned if plan.matched else []
    pairing = _pair(messages, request, aligned, shown)
    # Only of these it matters what others have changed: to look up all messages of a long chat would take long.
    changed = shown.changed([messages[place] for place in pairing.dropped if messages[place].is_stored])
    if changed:
        # The client did not leave out what is kept because others changed it: count again what it left out.
        messages = [replace(one, is_fixed=True) if one.id in changed else one for one in messages]
        pairing = _pair(messages, request, aligned, shown)
    dropped, last = pairing.dropped, pairing.last
    plan.deletions = [messages[place].id for place in dropped if messages[place].is_stored]
    end = [messages[place] for place in dropped if place > last]
    plan.dropped_end = DroppedEnd(
        user_messages=sum(one.is_user for one in end),
        stored=sum(one.is_stored for one in end),
        last_kept=next((one.id for one in reversed(messages[: last + 1]) if one.is_stored), None),
    )
    for number, place in sorted(pairing.by_turn.items()):
        _change(plan, messages[place], turns[number], keys[number])
    has_reply = pairing.asked is not None and last > pairing.asked and messages[last].is_stored
    _add_new(plan, messages, turns, pairing.by_turn, messages[last].id if has_reply else None)
    anchor = pairing.by_turn.get(len(turns) - 1)
    plan.anchor = None if anchor is None else messages[anchor].id
    plan.known = _known(messages, keys, pairing)
    return plan


def _keys_of(messages: Sequence[ComparedMessage], sent: Sequence[int], shown: ShownTexts) -> list[int]:
    """Return the keys of messages without white space; of a reply, that of the swipe that the client sends instead.

    ``sent`` are the keys of turns without white space.
    """
    keys = [unspaced_key(one.key) for one in messages]
    stored = set(keys)
    new = [number for number, key in enumerate(sent) if not key & 1 and key not in stored]
    replies = _replies_by_swipe(messages, set(sent), shown) if new else {}
    equal = unique_pairs(keys, sent) if replies else []
    for number in reversed(new):
        # Several replies may have the same swipe, such as a refusal.
        fitting = [place for place in replies.get(sent[number], ()) if _is_between(equal, place, number)]
        following = [place for place in fitting if place and number and keys[place - 1] == sent[number - 1]]
        if fitting:
            place = max(following or fitting)
            keys[place] = sent[number]
            insort(equal, (place, number))
    return keys


def _replies_by_swipe(
    messages: Sequence[ComparedMessage], sent: Set[int], shown: ShownTexts
) -> Mapping[int, Sequence[int]]:
    """Return the places of the latest replies that the client no longer sends as they were, by the keys of swipes."""
    places = [
        place
        for place, one in enumerate(messages)
        if one.is_known and one.is_stored and not (one.is_user or one.is_fixed) and unspaced_key(one.key) not in sent
    ][-SWIPED:]
    swipes = shown.swipe_keys([messages[place].id for place in places]) if places else {}
    replies: dict[int, list[int]] = {}
    for place in places:
        for key in set(map(unspaced_key, swipes.get(messages[place].id, ()))):
            replies.setdefault(key, []).append(place)
    return replies


def _is_between(pairs: Pairs, place: int, number: int) -> bool:
    """Return whether a pair crosses none of others, which are sorted."""
    at = bisect_left(pairs, (place, number))
    before, after = pairs[max(at - 1, 0) : at], pairs[at : at + 1]
    return all(old < place and new < number for old, new in before) and all(
        old > place and new > number for old, new in after
    )


def _pair(messages: Sequence[ComparedMessage], request: KeyedRequest, matched: Pairs, shown: ShownTexts) -> _Pairing:
    """Pair the turns with messages, and tell which messages the client has dropped."""
    turns, keys = request.turns, request.keys
    pairs, kept = pair_turns(messages, turns, matched, follows=request.client_request.follows, texts=shown.of)
    asked = {number: place for place, number in pairs}.get(len(turns) - 1)
    pairs = [pair for pair in pairs if not _is_gone(messages[pair[0]], pair[1], turns, keys)]
    last = max((place for place, _ in matched + pairs), default=-1)
    if asked == last and last >= 0:
        reply = _reply_of(messages, last)
        last = reply if turns[-1].is_user or messages[reply].name == request.asked != "" else last
    by_place = dict(matched) | dict(pairs)
    dropped = [
        place
        for place, one in enumerate(messages if matched else ())
        if one.is_known and not one.is_fixed and place not in by_place and place not in kept and place != last
    ]
    return _Pairing({number: place for place, number in pairs}, by_place, dropped, last, asked)


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
    messages: Sequence[ComparedMessage], keys: Sequence[int], pairing: _Pairing
) -> list[tuple[UUID | None, int]]:
    """Return the messages that the client has from now on, in order; None for a new one."""
    known: list[tuple[UUID | None, int]] = []
    number, dropped = 0, set(pairing.dropped)
    for place, message in enumerate(messages):
        own = pairing.by_place.get(place)
        if own is not None and pairing.by_turn.get(own) == place:
            known += [(None, key) for key in keys[number:own]]
            known.append((message.id, keys[own]))
            number = own + 1
        elif own is None and message.is_known and place not in dropped:
            known.append((message.id, message.key))
    return known + [(None, key) for key in keys[number:]]
