"""Pair what a client sends with the messages that it has edited. Nothing here reads or writes the database."""

from collections import Counter
from collections.abc import Sequence

from apps.proxy.matching.aligning import Pairs
from apps.proxy.matching.plans import ComparedMessage, Texts
from apps.proxy.requests.turns import Turn

MAX_MISSING = 2  # exchanges that a client deletes at once in the middle; what is more was left out of its context
MAX_LIKENED = 2_500  # pairs of texts in a gap; beyond it, turns are paired by speaker alone
PAIRED = 0.01  # added to the square of the likeness: unlike texts are paired too, if nothing is more alike
COMPARED_CHARACTERS = 2_000  # of a text
Trigrams = Counter[str]


def pair_turns(
    messages: Sequence[ComparedMessage], turns: Sequence[Turn], matched: Pairs, *, follows: bool, texts: Texts
) -> tuple[Pairs, set[int]]:
    """Return the equal turns, between them those that the client has edited, and the places that it left out.

    ``texts`` returns the texts of messages, and is called only where the speakers leave open which turn is whose.
    """
    pairs = list(matched)
    kept: set[int] = set()
    starts = [(-1, -1), *matched]
    ends = [*matched, (len(messages), len(turns))]
    for (start, turn_start), (end, turn_end) in zip(starts, ends, strict=True) if matched else ():
        places = [place for place in range(start + 1, end) if messages[place].is_known and not messages[place].is_fixed]
        numbers = list(range(turn_start + 1, turn_end))
        missing = sum(messages[place].is_user for place in places) - sum(turns[number].is_user for number in numbers)
        is_inside = start >= 0 and end < len(messages)
        left_out = start < 0 or (is_inside and missing > MAX_MISSING and not follows)
        if left_out:
            # What the client no longer sends is further back: turns are paired from the end.
            near = places[-len(numbers) - 2 * MAX_MISSING :] if numbers else []
            pairs += _pair_gap(messages, turns, near[::-1], numbers[::-1], texts)
            kept.update(places)
        else:
            # Several exchanges fewer at the end: the client went on from an earlier point, and deleted nothing between.
            is_earlier = end == len(messages) and missing >= MAX_MISSING and not follows
            pairs += _pair_gap(messages, turns, places, numbers, None if is_earlier else texts)
    return sorted(pairs), kept


def _pair_gap(
    messages: Sequence[ComparedMessage],
    turns: Sequence[Turn],
    places: Sequence[int],
    numbers: Sequence[int],
    texts: Texts | None,
) -> Pairs:
    """Pair turns with messages of the same speaker, in order: the first ones, or so that ``texts`` are most alike."""
    speakers = [messages[place].is_user for place in places]
    wanted = [turns[number].is_user for number in numbers]
    if not set(speakers) & set(wanted):
        return []
    if texts is None or len(places) * len(numbers) == 1 or len(places) * len(numbers) > MAX_LIKENED:
        found = _in_order(speakers, wanted)
    else:
        stored = texts(tuple(messages[place].id for place in places))
        old = [trigrams(stored.get(messages[place].id, "")) for place in places]
        new = [trigrams(turns[number].text) for number in numbers]
        found = _most_like(
            [
                [
                    PAIRED + likeness(text, other) ** 2 if speaker == want else 0.0
                    for want, other in zip(wanted, new, strict=True)
                ]
                for speaker, text in zip(speakers, old, strict=True)
            ]
        )
    return [(places[place], numbers[number]) for place, number in found]


def _in_order(speakers: Sequence[bool], wanted: Sequence[bool]) -> Pairs:
    """Pair each wanted speaker with the next equal one. One who does not follow any more stays alone."""
    pairs: Pairs = []
    following = 0
    for number, speaker in enumerate(wanted):
        place = next((place for place in range(following, len(speakers)) if speakers[place] == speaker), None)
        if place is not None:
            pairs.append((place, number))
            following = place + 1
    return pairs


def _most_like(scores: Sequence[Sequence[float]]) -> Pairs:
    """Return the pairs in order with the greatest sum of scores, early ones if several sums are equal."""
    rows, columns = len(scores), len(scores[0])
    # best[place][number] is the greatest sum of what begins there.
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for place in reversed(range(rows)):
        for number in reversed(range(columns)):
            paired = best[place + 1][number + 1] + scores[place][number]
            best[place][number] = max(paired, best[place + 1][number], best[place][number + 1])
    pairs: Pairs = []
    place = number = 0
    while place < rows and number < columns:
        paired = best[place + 1][number + 1] + scores[place][number]
        if scores[place][number] and paired == best[place][number]:
            pairs.append((place, number))
            place, number = place + 1, number + 1
        elif best[place + 1][number] == best[place][number]:
            place += 1
        else:
            number += 1
    return pairs


def trigrams(text: str) -> Trigrams:
    """Return how often each sequence of three characters stands in the beginning of a text, in any language."""
    padded = f"  {' '.join(text[:COMPARED_CHARACTERS].lower().split())} "
    return Counter(padded[at : at + 3] for at in range(len(padded) - 2))


def likeness(first: Trigrams, second: Trigrams) -> float:
    """Return the share of trigrams that two texts have in common, from 0 to 1 (the Sørensen-Dice coefficient)."""
    return 2 * (first & second).total() / max(first.total() + second.total(), 1)
