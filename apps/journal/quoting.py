"""Choose the most important of many bullets, without a model. Pure functions."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from apps.memories.journal.bullets import Bullet

MAX_BULLET_LENGTH = 300  # characters; longer ones are quoted in part
_WORD = re.compile(r"\w{4,}")


def quote(bullets: Sequence[Bullet], max_length: int) -> list[Bullet]:
    """Return the most important bullets that fit into ``max_length`` characters, in the given order.

    A word counts as often as bullets have it. The next bullet is the one whose words, without those of bullets chosen
    already, count most: what matters comes up again, and is said once. A bullet that adds no word is left out.
    """
    candidates = list(dict.fromkeys(shortened(bullet) for bullet in bullets))
    words = [words_of(bullet.text) for bullet in candidates]
    counts = Counter(word for each in words for word in each)
    left, chosen = list(range(len(candidates))), list[int]()
    covered: set[str] = set()
    room = max_length
    while left := [n for n in left if len(str(candidates[n])) < room and not _is_said(words[n], covered)]:
        best = max(left, key=lambda n: (sum(counts[word] for word in words[n] - covered), -n))
        chosen.append(best)
        left.remove(best)
        covered |= words[best]
        room -= len(str(candidates[best])) + 1
    return [candidates[n] for n in sorted(chosen)]


def _is_said(words: set[str], covered: set[str]) -> bool:
    """Return whether a bullet adds no word. Of one without longer words nothing can be told."""
    return bool(words) and words <= covered


def shortened(bullet: Bullet) -> Bullet:
    """Return a bullet whose text is at most MAX_BULLET_LENGTH characters long, cut between words."""
    if len(bullet.text) <= MAX_BULLET_LENGTH:
        return bullet
    cut = bullet.text[: MAX_BULLET_LENGTH - 2]
    return Bullet((cut.rpartition(" ")[0] or cut) + " …", bullet.chat, bullet.via)


def within(lines: Iterable[str], max_length: int) -> list[str]:
    """Return the first lines that fit into ``max_length`` characters together; at least one, cut if need be."""
    kept: list[str] = []
    for line in lines:
        if kept and sum(map(len, kept)) + len(kept) + len(line) > max_length:
            break
        kept.append(line[:max_length])
    return kept


def words_of(text: str) -> set[str]:
    """Return the longer words of a text, in lower case."""
    return set(_WORD.findall(text.lower()))
