"""Divide turns into which a client joins messages of one speaker's role. Nothing here writes.

SillyTavern's prompt post-processing joins replies of several members of a group by an empty line. If it is told to send
no names, only the stored messages show where one ends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from uuid import UUID

from apps.proxy.matching.keys import keys_of, unspaced_key
from apps.proxy.matching.plans import ComparedMessage, KeyedRequest, Texts
from apps.proxy.requests.texts import GAP, unspaced
from apps.proxy.requests.turns import Turn


@dataclass(frozen=True)
class _Stored:
    """The text of a stored message without white space, at a place of a run of so many."""

    text: str
    run: int
    place: int
    length: int


def divided_request(
    owner_id: UUID, messages: Sequence[ComparedMessage], request: KeyedRequest, texts: Texts
) -> KeyedRequest:
    """Return the request with each turn of several stored messages divided into these.

    The messages follow one another, and none of them is a turn of its own. One of them may be another text: an edited
    message has no end of its own.
    """
    runs = _joined_runs(messages, request.keys)
    stored = {unspaced_key(message.key) for message in messages}
    if not runs or all(unspaced_key(key) in stored for key in request.keys):
        return request
    had = texts(tuple(message.id for run in runs for message in run))
    # By the beginning of each message, since a chat may have thousands.
    by_beginning: dict[tuple[bool, str], list[_Stored]] = {}
    for number, run in enumerate(runs):
        for place, message in enumerate(run):
            first, *_ = paragraphs = list(map(unspaced, had.get(message.id, "").split(GAP)))
            text = _Stored("".join(paragraphs), number, place, len(run))
            by_beginning.setdefault((message.is_user, first), []).append(text)
    turns: list[Turn] = []
    keys: list[int] = []
    for turn, key in zip(request.turns, request.keys, strict=True):
        parts = [turn] if turn.tools or unspaced_key(key) in stored else _parts(turn, by_beginning)
        turns += parts
        keys += [key] if len(parts) == 1 else keys_of(owner_id, parts)
    return replace(request, turns=turns, keys=keys)


def _joined_runs(messages: Sequence[ComparedMessage], keys: Sequence[int]) -> list[list[ComparedMessage]]:
    """Return the messages of one role that follow one another, and of which the client sends none as a turn.

    Between replies, there may be a message of the user's that is none of the turns either: an instruction that has
    moved, or one that was deleted.
    """
    sent_keys = set(map(unspaced_key, keys))
    runs: list[list[ComparedMessage]] = [[]]
    replies: list[list[ComparedMessage]] = [[]]
    for message in messages:
        if not message.is_known:
            continue
        if not message.is_stored or unspaced_key(message.key) in sent_keys:
            runs.append([])
            replies.append([])
        elif message.is_user:
            runs[-1].append(message)
        else:
            replies[-1].append(message)
            runs.append([])
    return [run for run in (*runs, *replies) if len(run) > 1]


def _parts(turn: Turn, by_beginning: Mapping[tuple[bool, str], Sequence[_Stored]]) -> list[Turn]:
    """Return the messages in a turn: those that are stored, and before, between and after them the edited ones."""
    paragraphs = turn.text.split(GAP)
    plain = list(map(unspaced, paragraphs))
    offsets = list(accumulate(map(len, plain), initial=0))
    ends_at = {offset: place for place, offset in enumerate(offsets)}
    whole = "".join(plain)
    found: list[tuple[int, int, _Stored]] = []
    place = 0
    while place < len(paragraphs):
        equal = [
            (ends_at[offsets[place] + len(message.text)], message)
            for message in by_beginning.get((turn.is_user, plain[place]), ())
            if message.text
            and whole.startswith(message.text, offsets[place])
            and offsets[place] + len(message.text) in ends_at
        ]
        end, message = max(equal, key=lambda item: item[0], default=(place + 1, None))
        found += [(place, end, message)] if message else []
        place = end
    if not _is_of_one_run(found, len(paragraphs)):
        return [turn]
    places = sorted({0, len(paragraphs), *(at for start, end, _ in found for at in (start, end))})
    texts = [GAP.join(paragraphs[start:end]) for start, end in pairwise(places)]
    return [replace(turn, text=text, name="") for text in texts if text.strip()]


def _is_of_one_run(found: Sequence[tuple[int, int, _Stored]], count: int) -> bool:
    """Return whether messages are of one run, in order, and other text stands only where others of it are missing."""
    if not found:
        return False
    run, length = found[0][2].run, found[0][2].length
    ends = [(0, -1), *((end, message.place) for _, end, message in found)]
    starts = [*((start, message.place) for start, _, message in found), (count, length)]
    steps = [(start - end, place - last) for (end, last), (start, place) in zip(ends, starts, strict=True)]
    is_fitting = all(step > (1 if between else 0) for between, step in steps)
    return (
        is_fitting
        and all(message.run == run for *_, message in found)
        and (len(found) > 1 or any(between for between, _ in steps))
    )
