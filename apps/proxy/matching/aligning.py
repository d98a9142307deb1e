"""Find the equal items of two sequences, in time linear in their lengths. Nothing here reads or writes the database."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

MAX_COMPARED = 40_000  # pairs of items in a stretch that no unique item divides; beyond it, only its ends are compared
Pairs = list[tuple[int, int]]


def align(old: Sequence[int], new: Sequence[int]) -> Pairs:
    """Return positions of equal items, in order. Equal items are matched at the end rather than at the beginning.

    Items that stand once in both divide the sequences; what stands between them is compared on its own.
    """
    anchors = unique_pairs(old, new)
    if not anchors and (overlap := _overlap(old, new)):
        anchors = [(len(old) - overlap + step, step) for step in range(overlap)]
    pairs: Pairs = []
    start = (0, 0)
    for anchor in anchors:
        pairs += [*_stretch(old, new, start, anchor), anchor]
        start = (anchor[0] + 1, anchor[1] + 1)
    return pairs + _stretch(old, new, start, (len(old), len(new)))


def unique_pairs(old: Sequence[int], new: Sequence[int]) -> Pairs:
    """Return the positions of the longest run, in order in both sequences, of items that stand once in each."""
    counts, new_counts = Counter(old), Counter(new)
    places = {item: place for place, item in enumerate(old) if counts[item] == 1}
    common = [(places[item], place) for place, item in enumerate(new) if new_counts[item] == 1 and item in places]
    tails: list[int] = []
    lengths: list[int] = []
    for place, _ in common:
        length = bisect_left(tails, place)
        tails[length : length + 1] = [place]
        lengths.append(length)
    run: Pairs = []
    wanted = len(tails) - 1
    for pair, length in zip(reversed(common), reversed(lengths), strict=True):
        if length == wanted and (not run or pair[0] < run[-1][0]):
            run.append(pair)
            wanted -= 1
    return run[::-1]


def _overlap(old: Sequence[int], new: Sequence[int]) -> int:
    """Return the length of the longest end of ``old`` with which ``new`` begins (Knuth, Morris and Pratt)."""
    borders = [0] * len(new)
    matched = 0
    for place in range(1, len(new)):
        while matched and new[place] != new[matched]:
            matched = borders[matched - 1]
        matched += new[place] == new[matched]
        borders[place] = matched
    matched = 0
    for place, item in enumerate(old):
        while matched and (matched == len(new) or item != new[matched]):
            matched = borders[matched - 1]
        matched += bool(new) and item == new[matched]
        if matched == len(new) and place < len(old) - 1:
            matched = borders[matched - 1] if matched else 0
    return matched


def _stretch(old: Sequence[int], new: Sequence[int], start: tuple[int, int], end: tuple[int, int]) -> Pairs:
    """Return the equal items between two positions: those at the ends, and between them those of the longest run."""
    (first, new_first), (last, new_last) = start, end
    suffix: Pairs = []
    prefix: Pairs = []
    while first < last and new_first < new_last and old[first] == new[new_first]:
        prefix.append((first, new_first))
        first, new_first = first + 1, new_first + 1
    while first < last and new_first < new_last and old[last - 1] == new[new_last - 1]:
        last, new_last = last - 1, new_last - 1
        suffix.append((last, new_last))
    middle: Pairs = []
    if 0 < (last - first) * (new_last - new_first) <= MAX_COMPARED:
        found = _longest(old[first:last], new[new_first:new_last])
        middle = [(first + place, new_first + new_place) for place, new_place in found]
    return [*prefix, *middle, *reversed(suffix)]


def _longest(old: Sequence[int], new: Sequence[int]) -> Pairs:
    """Return the longest run of equal items in order."""
    table = [[0] * (len(new) + 1)]
    for item in old:
        above, row = table[-1], [0]
        for place, other in enumerate(new):
            row.append(above[place] + 1 if item == other else max(above[place + 1], row[-1]))
        table.append(row)
    pairs: Pairs = []
    place, new_place = len(old), len(new)
    while place and new_place:
        if old[place - 1] == new[new_place - 1]:
            place, new_place = place - 1, new_place - 1
            pairs.append((place, new_place))
        elif table[place - 1][new_place] >= table[place][new_place - 1]:
            place -= 1
        else:
            new_place -= 1
    return pairs[::-1]
