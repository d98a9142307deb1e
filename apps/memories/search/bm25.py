"""BM25 of rows whose words are given as patterns. Without database access.

A pattern is a number whose digits, to the base 4, say how often a row contains each of 12 lexemes of the query. A digit
of 3 stands for three times or more, which leaves a range of scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

K1 = 1.2  # BM25's saturation of repeated words, at its usual value
LEXEMES_PER_PATTERN = 12  # digits to the base 4 that the 24 bits of a float hold
MOST_TIMES = 3


@dataclass(frozen=True)
class WordScores:
    """The least and the greatest score of each row, as fractions of the maximum; without a lexeme of the query -inf.

    ``weights`` are of the query's lexemes, ``norms`` of the rows' lengths.
    """

    least: np.ndarray
    greatest: np.ndarray
    weights: np.ndarray
    norms: np.ndarray

    def unsure(self, score: float = 0.0) -> list[int]:
        """Return the rows without an exact score that could have this one or a greater one."""
        return np.flatnonzero((self.greatest > self.least) & (self.greatest >= score)).tolist()

    def exact(self, row: int, times: Mapping[int, int]) -> float:
        """Return the score of a row by how often it contains each lexeme, by the lexeme's place in the query."""
        return float(sum(self.weights[n] * tf / (tf + self.norms[row]) for n, tf in times.items()))


def pattern_count(lexemes: int) -> int:
    """Return how many patterns hold so many lexemes."""
    return -(-lexemes // LEXEMES_PER_PATTERN)


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
    rows = np.flatnonzero(patterns & (3 << 2 * place) != 0)
    return rows, patterns[rows] >> 2 * place & 3


def _weights(frequencies: np.ndarray, rows: int) -> np.ndarray:
    """Return the inverse document frequencies of lexemes as shares of their sum; 0 for those that no row contains."""
    weights = np.log1p((rows - frequencies + 0.5) / (frequencies + 0.5)) * (frequencies > 0)
    return weights / (weights.sum() or 1)
