"""Softmax regression: it learns what tells classes apart, keeps it in a file, and is the same each time."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.english.regression import fit, read, write

numbers = st.floats(-1000, 1000)
examples = st.lists(st.tuples(numbers, numbers, st.integers(0, 2)), min_size=1, max_size=12)


def test_it_learns_what_tells_the_classes_apart(tmp_path: Path) -> None:
    found = [{"height": float(n), "noise": float(n * 7 % 5), "constant": 1.0} for n in range(40)]
    classes = [int(n >= 15) + int(n >= 30) for n in range(40)]
    learnt = fit(found, classes, l2=0.1)
    likely = learnt.probabilities(found)
    assert (likely.argmax(axis=1) == classes).mean() > 0.9
    assert likely.sum(axis=1) == pytest.approx(1)
    file = tmp_path / "weights.json"
    write(learnt, file)
    assert read(file).probabilities(found) == pytest.approx(likely, abs=0.001)


def test_the_more_it_shrinks_the_less_a_signal_tells() -> None:
    found = [{"height": float(n)} for n in range(10)]
    classes = [int(n >= 5) for n in range(10)]
    sure, unsure = (fit(found, classes, l2=l2).probabilities(found) for l2 in (0.1, 100))
    assert sure[0, 0] > unsure[0, 0] > 0.5


@settings(max_examples=25)
@given(examples)
def test_whatever_it_learns_from_it_gives_likelihoods(rows: list[tuple[float, float, int]]) -> None:
    found = [{"one": one, "two": two} for one, two, _ in rows]
    learnt = fit(found, [number for *_, number in rows], l2=1)
    likely = learnt.probabilities(found)
    assert np.isfinite(likely).all()
    assert likely.sum(axis=1) == pytest.approx(1)
    assert fit(found, [number for *_, number in rows], l2=1).weights.tolist() == learnt.weights.tolist()
