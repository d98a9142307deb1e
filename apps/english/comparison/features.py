"""Measure the similarities and differences of two statements as numbers. Without database access."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from apps.english.clauses import clauses
from apps.english.differences import (
    distinctive_words,
    event_follows_state,
    has_antonyms,
    identifiers_differ,
    negation_differs,
    parse_statement,
    particles_differ,
)
from apps.english.lexicon import are_synonyms, stem
from apps.english.predicates import predicates
from apps.english.words import STOP_WORDS, Words, content_stems, jaccard, unmatched

Embed = Callable[[Sequence[str]], np.ndarray]  # returns a unit vector per text, as rows
_KIN = re.compile(r"brother|sister|mother|father|cousin|uncle|aunt|friend|neighbour|son|daughter|grandm|grandf", re.I)
_UNIVERSAL = re.compile(r"\b(?:all|every|entire|whole|only|last)\b", re.I)
_CHANGE = re.compile(r"\b(?:now|no longer|anymore|has become|became|instead|since|finally)\b", re.I)
_ADDITION = re.compile(r"\b(?:also|too|as well|another|other|second|again|besides|both)\b", re.I)
# Prefixes of features that are components of a vector: of the newer statement, of its remainder, and of the older one's
# remainder. The sign joins the names of two features to that of their product.
NEW_PREFIX, ADDED_PREFIX, REMOVED_PREFIX, PRODUCT = "new_vector_", "added_vector_", "removed_vector_", " and "
_WORD_SCALE = 10  # divisor of word counts, which makes them about as large as the other features


@dataclass(frozen=True)
class Pair:
    """Two statements of the same kind; ``new`` was said later."""

    old: str
    new: str
    kind: str


@dataclass(frozen=True)
class Remainder:
    """Content words of a statement that have no synonym in the other, in order.

    ``start`` is the relative position of the first one, from 0 at the start of the statement to 1.
    """

    words: tuple[str, ...]
    start: float

    @property
    def text(self) -> str:
        return " ".join(self.words)


def features(pairs: Sequence[Pair], embed: Embed) -> list[dict[str, float]]:
    """Return the features of each pair, by name. All texts are embedded in one call, and each of them once.

    One new statement is mostly compared with many old ones: of the texts of 96 pairs a fifth were different ones.
    """
    if not pairs:
        return []
    remainders = [(_remainder(pair.old, pair.new), _remainder(pair.new, pair.old)) for pair in pairs]
    texts = [
        text
        for pair, (old, new) in zip(pairs, remainders, strict=True)
        for text in (pair.old, pair.new, old.text or pair.old, new.text or pair.new)
    ]
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    vectors = embed(list(places))[[places[text] for text in texts]].reshape(len(pairs), 4, -1)
    return [_pair_features(pair, vectors[number], *remainders[number]) for number, pair in enumerate(pairs)]


def _pair_features(pair: Pair, vectors: np.ndarray, old_rest: Remainder, new_rest: Remainder) -> dict[str, float]:
    """Return the features of a pair. ``vectors`` has four rows: old, new, and the remainder of each."""
    scalars = _meaning_features(vectors, old_rest, new_rest) | _word_features(pair, old_rest, new_rest)
    scalars |= _content_features(pair) | _subject_and_tense_features(pair)
    products = {f"{a}{PRODUCT}{b}": scalars[a] * scalars[b] for a, b in combinations(scalars, 2)}
    _, new, old_rest_vector, new_rest_vector = vectors
    components = {
        f"{prefix}{number}": value
        for prefix, vector in ((NEW_PREFIX, new), (ADDED_PREFIX, new_rest_vector), (REMOVED_PREFIX, old_rest_vector))
        for number, value in enumerate(vector.tolist())
    }
    return scalars | products | components


def _remainder(text: str, other: str) -> Remainder:
    words = [word for clause in clauses(text) for word in clause.words]
    other_stems = frozenset(stem(word) for clause in clauses(other) for word in clause.words)
    rest = [
        (index, word)
        for index, word in enumerate(words)
        if word not in STOP_WORDS and content_stems([word]) and unmatched(frozenset([stem(word)]), other_stems)
    ]
    return Remainder(tuple(word for _, word in rest), rest[0][0] / len(words) if rest else 1.0)


def _meaning_features(vectors: np.ndarray, old_rest: Remainder, new_rest: Remainder) -> dict[str, float]:
    """Return cosine similarities, 1 if there is no remainder."""
    old_vector, new_vector, old_rest_vector, new_rest_vector = vectors
    return {
        "similarity": float(old_vector @ new_vector),
        "remainder_similarity": float(old_rest_vector @ new_rest_vector) if old_rest.words and new_rest.words else 1.0,
        "old_remainder_similarity": float(old_rest_vector @ new_vector) if old_rest.words else 1.0,
        "new_remainder_similarity": float(new_rest_vector @ old_vector) if new_rest.words else 1.0,
    }


def _word_features(pair: Pair, old_rest: Remainder, new_rest: Remainder) -> dict[str, float]:
    older, newer = parse_statement(pair.old), parse_statement(pair.new)
    shared = len(older.words & newer.words)
    old_tokens, new_tokens = pair.old.split(), pair.new.split()
    return {
        "overlap": jaccard(pair.old, pair.new),
        "old_covered": shared / max(1, len(older.words)),
        "new_covered": shared / max(1, len(newer.words)),
        "old_words": len(older.words) / _WORD_SCALE,
        "new_words": len(newer.words) / _WORD_SCALE,
        "old_remainder_words": len(old_rest.words) / _WORD_SCALE,
        "new_remainder_words": len(new_rest.words) / _WORD_SCALE,
        "no_old_remainder": not old_rest.words,
        "no_new_remainder": not new_rest.words,
        "old_remainder_start": old_rest.start,
        "same_first_word": old_tokens[:1] == new_tokens[:1],
        "same_first_words": old_tokens[:2] == new_tokens[:2],
    }


def _content_features(pair: Pair) -> dict[str, float]:
    older, newer = parse_statement(pair.old), parse_statement(pair.new)
    only_old, only_new = distinctive_words(pair.old, pair.new)
    return {
        "identifiers_differ": identifiers_differ(pair.old, pair.new),
        "particles_differ": particles_differ(pair.old, pair.new),
        "antonyms": has_antonyms(pair.old, pair.new),
        "event_follows_state": event_follows_state(pair.old, pair.new),
        "old_distinctive_words": len(only_old) / _WORD_SCALE,
        "new_distinctive_words": len(only_new) / _WORD_SCALE,
        "one_word_differs": len(only_old) == len(only_new) == 1,
        "only_additions": not only_old and bool(only_new),
        "negation_differs": negation_differs(pair.old, pair.new),
        "one_negated": older.negated != newer.negated,
        "new_negated": newer.negated,
        "numbers_removed": bool(older.numbers - newer.numbers),
        "numbers_added": bool(newer.numbers - older.numbers),
        "numbers_shared": bool(older.numbers & newer.numbers),
        "is_event": pair.kind == "event",
    }


def _subject_and_tense_features(pair: Pair) -> dict[str, float]:
    older, newer = parse_statement(pair.old), parse_statement(pair.new)
    old_predicates, new_predicates = predicates(pair.old), predicates(pair.new)
    old, new = next(iter(old_predicates), None), next(iter(new_predicates), None)
    return {
        "names_added": len(unmatched(newer.names, older.words)),
        "names_removed": len(unmatched(older.names, newer.words)),
        "names_shared": len(older.names & newer.names),
        "same_names": older.names == newer.names,
        "same_verb": bool(old and new and are_synonyms(old.verb, new.verb)),
        "same_subject": bool(old and new and old.subject & new.subject),
        "subjects_differ": bool(old and new and _are_distinct(old.subject, new.subject)),
        "old_past": any(predicate.is_past for predicate in old_predicates),
        "new_past": any(predicate.is_past for predicate in new_predicates),
        "new_perfect": any(predicate.is_perfect for predicate in new_predicates),
        "new_kinship": bool(_KIN.search(pair.new)),
        "new_universal": bool(_UNIVERSAL.search(pair.new)),
        "new_change": bool(_CHANGE.search(pair.new)),
        "new_addition": bool(_ADDITION.search(pair.new)),
    }


def _are_distinct(first: Words, second: Words) -> bool:
    return bool(first - second) and bool(second - first)
