"""In what two statements are alike, and in what they differ, as numbers. Pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from apps.english.clauses import clauses
from apps.english.differences import (
    has_opposites,
    identifiers_differ,
    leftovers,
    negation_turned,
    particles_differ,
    reading,
    tells_what_became,
)
from apps.english.lexicon import alike, stem
from apps.english.predicates import predicates
from apps.english.words import STOP_WORDS, Words, jaccard, meaning, unmatched

Embed = Callable[[Sequence[str]], np.ndarray]  # unit vectors, one a row
_KIN = re.compile(r"brother|sister|mother|father|cousin|uncle|aunt|friend|neighbour|son|daughter|grandm|grandf", re.I)
_ALL = re.compile(r"\b(?:all|every|entire|whole|only|last)\b", re.I)
_NEWS = re.compile(r"\b(?:now|no longer|anymore|has become|became|instead|since|finally)\b", re.I)
_MORE = re.compile(r"\b(?:also|too|as well|another|other|second|again|besides|both)\b", re.I)
# Begin the names of the signals that are vectors: of the newer statement, of what it says beyond the older one, and of
# what the older one says beyond it. BOTH stands in the names of products of two other signals.
MEANING, NEWS, LOST, BOTH = "meaning_", "news_", "lost_", " and "
_WORDS = 10  # signals that count words do so in tens, so that they are of the size of the others


@dataclass(frozen=True)
class Pair:
    """Two statements of a kind, the second said later."""

    old: str
    new: str
    kind: str


@dataclass(frozen=True)
class Rest:
    """The content words of a statement that have no synonym in the other, in order; ``begins``: where the first of them
    stands, from 0 at the start of the statement to 1."""

    words: tuple[str, ...]
    begins: float

    @property
    def text(self) -> str:
        return " ".join(self.words)


def signals(pairs: Sequence[Pair], embed: Embed) -> list[dict[str, float]]:
    """Return the signals of each pair, by name. All texts are embedded in one call."""
    rests = [(_rest(pair.old, pair.new), _rest(pair.new, pair.old)) for pair in pairs]
    texts = [
        text
        for pair, (old, new) in zip(pairs, rests, strict=True)
        for text in (pair.old, pair.new, old.text or pair.old, new.text or pair.new)
    ]
    vectors = embed(texts).reshape(len(pairs), 4, -1) if pairs else np.zeros((0, 4, 0))
    return [_of_pair(pair, vectors[number], *rests[number]) for number, pair in enumerate(pairs)]


def _of_pair(pair: Pair, vectors: np.ndarray, left_old: Rest, left_new: Rest) -> dict[str, float]:
    """``vectors`` are those of both statements and of both rests."""
    found = _in_meaning(vectors, left_old, left_new) | _in_words(pair, left_old, left_new)
    found |= _in_what_is_said(pair) | _in_who_and_when(pair)
    products = {f"{one}{BOTH}{two}": found[one] * found[two] for one, two in combinations(found, 2)}
    _, new, rest_old, rest_new = vectors
    numbers = {
        f"{prefix}{number}": value
        for prefix, vector in ((MEANING, new), (NEWS, rest_new), (LOST, rest_old))
        for number, value in enumerate(vector.tolist())
    }
    return found | products | numbers


def _rest(text: str, other: str) -> Rest:
    words = [word for clause in clauses(text) for word in clause.words]
    others = {stem(word) for clause in clauses(other) for word in clause.words}
    left = [
        (place, word)
        for place, word in enumerate(words)
        if word not in STOP_WORDS and meaning([word]) and not any(alike(stem(word), one) for one in others)
    ]
    return Rest(tuple(word for _, word in left), left[0][0] / len(words) if left else 1.0)


def _in_meaning(vectors: np.ndarray, left_old: Rest, left_new: Rest) -> dict[str, float]:
    """Return cosines, 1 where there is no rest."""
    old, new, rest_old, rest_new = vectors
    return {
        "similarity": float(old @ new),
        "rests_alike": float(rest_old @ rest_new) if left_old.words and left_new.words else 1.0,
        "old_rest_like_new": float(rest_old @ new) if left_old.words else 1.0,
        "new_rest_like_old": float(rest_new @ old) if left_new.words else 1.0,
    }


def _in_words(pair: Pair, left_old: Rest, left_new: Rest) -> dict[str, float]:
    one, two = reading(pair.old), reading(pair.new)
    shared = len(one.words & two.words)
    first, second = pair.old.split(), pair.new.split()
    return {
        "overlap": jaccard(pair.old, pair.new),
        "old_covered": shared / max(1, len(one.words)),
        "new_covered": shared / max(1, len(two.words)),
        "old_words": len(one.words) / _WORDS,
        "new_words": len(two.words) / _WORDS,
        "old_rest": len(left_old.words) / _WORDS,
        "new_rest": len(left_new.words) / _WORDS,
        "no_old_rest": not left_old.words,
        "no_new_rest": not left_new.words,
        "old_rest_begins": left_old.begins,
        "same_first_word": first[:1] == second[:1],
        "same_first_words": first[:2] == second[:2],
    }


def _in_what_is_said(pair: Pair) -> dict[str, float]:
    one, two = reading(pair.old), reading(pair.new)
    only_old, only_new = leftovers(pair.old, pair.new)
    return {
        "identifiers_differ": identifiers_differ(pair.old, pair.new),
        "particles_differ": particles_differ(pair.old, pair.new),
        "opposites": has_opposites(pair.old, pair.new),
        "tells_what_became": tells_what_became(pair.old, pair.new),
        "old_only": len(only_old) / _WORDS,
        "new_only": len(only_new) / _WORDS,
        "one_swapped": len(only_old) == len(only_new) == 1,
        "only_adds": not only_old and bool(only_new),
        "negation_turned": negation_turned(pair.old, pair.new),
        "one_negated": one.negated != two.negated,
        "new_negated": two.negated,
        "numbers_gone": bool(one.numbers - two.numbers),
        "numbers_new": bool(two.numbers - one.numbers),
        "numbers_shared": bool(one.numbers & two.numbers),
        "is_event": pair.kind == "event",
    }


def _in_who_and_when(pair: Pair) -> dict[str, float]:
    one, two = reading(pair.old), reading(pair.new)
    before, after = predicates(pair.old), predicates(pair.new)
    first, second = next(iter(before), None), next(iter(after), None)
    return {
        "names_new": len(unmatched(two.names, one.words)),
        "names_gone": len(unmatched(one.names, two.words)),
        "names_shared": len(one.names & two.names),
        "same_names": one.names == two.names,
        "same_verb": bool(first and second and alike(first.verb, second.verb)),
        "same_subject": bool(first and second and first.subject & second.subject),
        "other_subject": bool(first and second and _apart(first.subject, second.subject)),
        "old_told": any(predicate.told for predicate in before),
        "new_told": any(predicate.told for predicate in after),
        "new_perfect": any(predicate.perfect for predicate in after),
        "new_of_kin": bool(_KIN.search(pair.new)),
        "new_of_all": bool(_ALL.search(pair.new)),
        "new_is_news": bool(_NEWS.search(pair.new)),
        "new_is_more": bool(_MORE.search(pair.new)),
    }


def _apart(one: Words, two: Words) -> bool:
    return bool(one - two) and bool(two - one)
