"""In what two statements are alike, and in what they differ, as numbers. Pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from apps.memories.claims.claim import Words, content
from apps.memories.claims.predicate import Predicate, predicates, unmatched
from apps.memories.lexicon import alike, stem
from apps.memories.restatement import differences, reading
from apps.memories.wording import STOP_WORDS, clauses, jaccard

Embed = Callable[[Sequence[str]], np.ndarray]  # unit vectors, one a row
_KIN = re.compile(r"brother|sister|mother|father|cousin|uncle|aunt|friend|neighbour|son|daughter|grandm|grandf", re.I)
_ALL = re.compile(r"\b(?:all|every|entire|whole|only|last)\b", re.I)
_NEWS = re.compile(r"\b(?:now|no longer|anymore|has become|became|instead|since|finally)\b", re.I)
_WORDS = 10  # a statement has about so many: what counts words is given in these


@dataclass(frozen=True)
class Pair:
    """Two statements of a kind, the second said later."""

    old: str
    new: str
    kind: str


@dataclass(frozen=True)
class Rest:
    """The words of meaning of a statement that have no like in the other, in order; ``begins``: where the first of them
    stands, from 0 at the start of the statement to 1."""

    words: tuple[str, ...]
    begins: float

    @property
    def text(self) -> str:
        return " ".join(self.words)


def signals(pairs: Sequence[Pair], embed: Embed) -> list[dict[str, float]]:
    """The signals of each pair, by name. All texts are embedded at once."""
    rests = [(_rest(pair.old, pair.new), _rest(pair.new, pair.old)) for pair in pairs]
    texts = [
        text
        for pair, (old, new) in zip(pairs, rests, strict=True)
        for text in (pair.old, pair.new, old.text or pair.old, new.text or pair.new)
    ]
    vectors = embed(texts).reshape(len(pairs), 4, -1) if pairs else np.zeros((0, 4, 0))
    return [
        _in_meaning(vectors[number], *rests[number])
        | _in_words(pair, *rests[number])
        | _in_what_is_said(pair)
        | _in_who_and_when(pair)
        for number, pair in enumerate(pairs)
    ]


def _rest(text: str, other: str) -> Rest:
    words = [word for clause in clauses(text) for word in clause.words]
    others = {stem(word) for clause in clauses(other) for word in clause.words}
    left = [
        (place, word)
        for place, word in enumerate(words)
        if word not in STOP_WORDS and content(word) and not any(alike(stem(word), one) for one in others)
    ]
    return Rest(tuple(word for _, word in left), left[0][0] / len(words) if left else 1.0)


def _in_meaning(vectors: np.ndarray, left_old: Rest, left_new: Rest) -> dict[str, float]:
    """Cosines; of nothing, 1. ``vectors`` are those of both statements and of both rests."""
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
    found = differences(pair.old, pair.new)
    one, two = reading(pair.old), reading(pair.new)
    return {
        "differs": found.any,
        "facts_differ": found.facts,
        "points_elsewhere": found.points_elsewhere,
        "tells_what_became": found.tells_what_became,
        "new_tells_an_end": found.new_tells_an_end,
        "old_only": len(found.only_old) / _WORDS,
        "new_only": len(found.only_new) / _WORDS,
        "negation_turned": one.negated != two.negated,
        "new_negated": two.negated,
        "numbers_gone": bool(one.numbers - two.numbers),
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
        "old_told": _any_told(before),
        "new_told": _any_told(after),
        "new_of_kin": bool(_KIN.search(pair.new)),
        "new_of_all": bool(_ALL.search(pair.new)),
        "new_is_news": bool(_NEWS.search(pair.new)),
    }


def _apart(one: Words, two: Words) -> bool:
    return bool(one - two) and bool(two - one)


def _any_told(found: Sequence[Predicate]) -> bool:
    return any(predicate.told for predicate in found)
