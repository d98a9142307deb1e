"""BM25 of rows whose words are given as patterns. Without database access.

A pattern is a number whose digits, to the base 8, say how often a row contains each of 8 lexemes of the query. A digit
of 7 stands for seven times or more, which leaves a range of scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

K1 = 1.2  # BM25's saturation of repeated words, at its usual value
LEXEMES_PER_PATTERN = 8  # digits of three bits that the 24 bits of a float hold
MOST_TIMES = 7
MOST_REACHING = 1000  # more rows than that all repeat one word time and again


@dataclass(frozen=True)
class WordScores:
    """The least and the greatest score of each row, as fractions of the maximum; without a lexeme of the query -inf.

    ``weights`` are of the query's lexemes, ``norms`` of the rows' lengths.
    """

    least: np.ndarray
    greatest: np.ndarray
    weights: np.ndarray
    norms: np.ndarray

    def is_exact(self, row: int) -> bool:
        """Return whether the row has a single score."""
        return bool(self.greatest[row] == self.least[row])

    def reaching(self, score: float) -> list[int]:
        """Return the rows without an exact score that could have this one or a greater one, the likeliest of many."""
        rows = np.flatnonzero((self.greatest > self.least) & (self.greatest >= score))
        return rows[np.argsort(-self.greatest[rows], kind="stable")[:MOST_REACHING]].tolist()

    def exact(self, row: int, times: Mapping[int, int]) -> float:
        """Return the score of a row by how often it contains each lexeme, by the lexeme's place in the query."""
        return float(sum(self.weights[n] * tf / (tf + self.norms[row]) for n, tf in times.items()))


def pattern_count(lexemes: int) -> int:
    """Return how many patterns hold so many lexemes."""
    return -(-lexemes // LEXEMES_PER_PATTERN)


def grouped(lexemes: Sequence[str]) -> list[Sequence[str]]:
    """Return the lexemes of each pattern."""
    return [lexemes[start : start + LEXEMES_PER_PATTERN] for start in range(0, len(lexemes), LEXEMES_PER_PATTERN)]


def score_words(patterns: Sequence[np.ndarray], lengths: np.ndarray, lexemes: int, b: float) -> WordScores:
    """Return the scores of rows with ``patterns`` of so many lexemes. A value that a row lacks is NaN."""
    known = lengths[~np.isnan(lengths)]
    mean = max(float(known.mean()), 1.0) if known.size else 1.0
    norms = K1 * (1 - b + b * np.nan_to_num(lengths, nan=mean) / mean)
    numbers = [np.nan_to_num(pattern).astype(np.int32) for pattern in patterns]
    found = [_occurrences(numbers[n // LEXEMES_PER_PATTERN], n % LEXEMES_PER_PATTERN) for n in range(lexemes)]
    weights = _weights(np.array([len(rows) for rows, _ in found]), len(lengths))
    least, unknown = np.zeros(len(lengths)), np.zeros(len(lengths))
    for weight, (rows, times) in zip(weights, found, strict=True):
        least[rows] += weight * times / (times + norms[rows])
        unknown[rows[times == MOST_TIMES]] += weight
    least[least == 0] = -np.inf
    return WordScores(least, least + unknown * norms / (MOST_TIMES + norms), weights, norms)


def _occurrences(patterns: np.ndarray, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows in which the digit of a place isn't 0, and these digits."""
    rows = np.flatnonzero(patterns & (MOST_TIMES << 3 * place) != 0)
    return rows, patterns[rows] >> 3 * place & MOST_TIMES


def _weights(frequencies: np.ndarray, rows: int) -> np.ndarray:
    """Return the inverse document frequencies of lexemes as shares of their sum; 0 for those that no row contains."""
    weights = np.log1p((rows - frequencies + 0.5) / (frequencies + 0.5)) * (frequencies > 0)
    return weights / (weights.sum() or 1)
