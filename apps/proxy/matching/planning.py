"""Plan what a request changes in a chat, where others may have written since. Nothing here touches the database."""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from uuid import UUID

from apps.proxy.matching.aligning import Pairs, align, unique_pairs
from apps.proxy.matching.keys import is_by_user, unspaced_key
from apps.proxy.matching.pairing import pair_turns
from apps.proxy.matching.plans import ChangePlan, ComparedMessage, DroppedEnd, KeyedRequest, ShownTexts
from apps.proxy.requests.turns import Turn

SWIPED = 40  # the latest replies of which the client may show another swipe, besides other changes
NO_KEY = -1


@dataclass(frozen=True)
class _Pairing:
    """Which turn is which message, by their numbers and places, and which messages the client has ``dropped``.

    A turn that is new is not in ``by_turn``, also where a message of its text is stored. ``last`` is the last message
    that the client keeps, ``asked`` that of its last turn, None if that is new.
    """

    by_turn: dict[int, int]
    by_place: dict[int, int]
    dropped: list[int]
    last: int
    asked: int | None


def plan_changes(
    messages: Sequence[ComparedMessage],
    request: KeyedRequest,
    shown: ShownTexts,
    cleaned: Mapping[int, int] = MappingProxyType({}),
) -> ChangePlan:
    """Return the changes that the client made. ``cleaned`` is that of ``Unfolded``.

    Messages before the first one that the client sends are kept, and so is a gap of more than MAX_MISSING exchanges:
    its context may be too small for them. If the client follows deletions, such a gap is deleted. A message that
    somebody else has changed since the client had it is kept. If the client ends with a turn that has a reply, the
    reply is kept: it will get another swipe. If that turn is itself a reply, the one after it is kept if it is of the
    speaker who is asked.
    """
    keys = request.keys
    stored_cleaned = tuple((messages[place], request.turns[number]) for place, number in cleaned.items())
    if cleaned:
        messages = [
            replace(one, key=keys[cleaned[place]]) if place in cleaned else one for place, one in enumerate(messages)
        ]
    sent = list(map(unspaced_key, keys))
    aligned = align(_keys_of(messages, sent, shown), sent)
    matched = tuple(pair for pair in aligned if _is_equal(messages[pair[0]].key, keys[pair[1]]))
    aligned = aligned if matched else []
    pairing = _pair(messages, request, aligned, shown)
    # Only of these it matters what others have changed: to look up all messages of a long chat would take long.
    changed = shown.changed([messages[place] for place in pairing.dropped if messages[place].is_stored])
    if changed:
        # The client did not leave out what is kept because others changed it: count again what it left out.
        messages = [replace(one, is_fixed=True) if one.id in changed else one for one in messages]
        pairing = _pair(messages, request, aligned, shown)
    plan = _plan(messages, request, pairing, shown)
    return replace(plan, matched=matched, cleaned=stored_cleaned)


def _plan(
    messages: Sequence[ComparedMessage], request: KeyedRequest, pairing: _Pairing, shown: ShownTexts
) -> ChangePlan:
    """Return the changes that follow from which turn is which message."""
    turns, keys = request.turns, request.keys
    kept = [
        (messages[place], turns[number], keys[number])
        for number, place in sorted(pairing.by_turn.items())
        if messages[place].is_stored
    ]
    edits = [(one, turn, key) for one, turn, key in kept if not _is_equal(one.key, key)]
    insertions, appended = _new_turns(messages, turns, pairing)
    anchor = pairing.by_turn.get(len(turns) - 1)
    return ChangePlan(
        edits=tuple((one, turn) for one, turn, _ in edits),
        selected=_selected({one: key for one, _, key in edits}, shown),
        respaced=tuple((one, turn) for one, turn, key in kept if one.key != key and _is_equal(one.key, key)),
        tools={one.id: turn for one, turn, _ in kept if turn.tools},
        deletions=tuple(messages[place].id for place in pairing.dropped if messages[place].is_stored),
        dropped_end=_dropped_end(messages, pairing),
        insertions=insertions,
        appended=appended,
        anchor=None if anchor is None else messages[anchor].id,
        known=_known(messages, keys, pairing),
    )


def _keys_of(messages: Sequence[ComparedMessage], sent: Sequence[int], shown: ShownTexts) -> list[int]:
    """Return the keys of messages without white space; of a reply, that of the swipe that the client sends instead.

    ``sent`` are the keys of turns without white space.
    """
    keys = [unspaced_key(one.key) for one in messages]
    stored, sent_keys = set(keys), set(sent)
    successive = {pair for pair in pairwise(keys) if pair[1] in sent_keys}
    # One that is stored elsewhere is new if it doesn't follow the message that it is sent after.
    new = {
        number: key
        for number, key in enumerate(sent)
        if not is_by_user(key)
        and (key not in stored or (number and sent[number - 1] in stored and (sent[number - 1], key) not in successive))
    }
    replies = _replies_by_swipe(messages, sent_keys, shown) if new else {}
    equal = unique_pairs(keys, [NO_KEY if number in new else key for number, key in enumerate(sent)]) if replies else []
    for number, key in reversed(new.items()):
        # Several replies may have the same swipe, such as a refusal.
        fitting = [place for place in replies.get(key, ()) if _is_between(equal, place, number)]
        following = [place for place in fitting if place and number and keys[place - 1] == sent[number - 1]]
        fitting = following or ([] if key in stored else fitting)
        if fitting:
            keys[fitting[-1]] = key
            insort(equal, (fitting[-1], number))
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
    swipes = shown.swipe_keys([messages[place] for place in places]) if places else {}
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
        is_of_asked = request.asked != "" and messages[reply].name == request.asked
        last = reply if turns[-1].is_user or is_of_asked else last
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


def _selected(edited: Mapping[ComparedMessage, int], shown: ShownTexts) -> frozenset[UUID]:
    """Return the ids of messages that have a text of this key as one of their swipes."""
    swipes = shown.swipe_keys(list(edited)) if edited else {}
    return frozenset(
        one.id for one, key in edited.items() if any(_is_equal(swipe, key) for swipe in swipes.get(one.id, ()))
    )


def _dropped_end(messages: Sequence[ComparedMessage], pairing: _Pairing) -> DroppedEnd:
    end = [messages[place] for place in pairing.dropped if place > pairing.last]
    return DroppedEnd(
        user_messages=sum(one.is_user for one in end),
        stored=sum(one.is_stored for one in end),
        last_kept=next((one.id for one in reversed(messages[: pairing.last + 1]) if one.is_stored), None),
    )


def _new_turns(
    messages: Sequence[ComparedMessage], turns: Sequence[Turn], pairing: _Pairing
) -> tuple[tuple[tuple[UUID, Turn], ...], tuple[Turn, ...]]:
    """Return the turns that have no message: those before the next one that has, or a reply, and those at the end."""
    last, asked = pairing.last, pairing.asked
    has_reply = asked is not None and last > asked and messages[last].is_stored
    following = messages[last].id if has_reply else None
    insertions: list[tuple[UUID, Turn]] = []
    appended: list[Turn] = []
    for number in reversed(range(len(turns))):
        place = pairing.by_turn.get(number)
        if place is not None:
            following = messages[place].id if messages[place].is_stored else following
        elif following is None:
            appended.append(turns[number])
        else:
            insertions.append((following, turns[number]))
    return tuple(reversed(insertions)), tuple(reversed(appended))


def _known(
    messages: Sequence[ComparedMessage], keys: Sequence[int], pairing: _Pairing
) -> tuple[tuple[UUID | None, int], ...]:
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
    return (*known, *((None, key) for key in keys[number:]))
