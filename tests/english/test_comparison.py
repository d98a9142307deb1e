"""The learned comparison: right about pairs that nothing was learnt from, within bounds, and fitted from tables."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.english import comparison
from apps.english.comparison import Comparison
from apps.english.comparison.features import Pair, features
from apps.english.regression import read
from apps.evaluation.json_lines import read_json_lines
from apps.evaluation.supersession import evaluate, pair_of
from apps.llm.embeddings import get_embedder
from tests.properties import WITH_DATABASE

DATA = Path(__file__).parents[1] / "data"
UNSEEN = DATA / "supersession_held_out.jsonl"  # by authors whose pairs were neither fitted to nor looked at


def test_statements_by_others_are_told_apart_and_no_contradiction_is_dropped() -> None:
    results = evaluate(UNSEEN, lambda line: None)
    assert results["pairs"] >= 250
    assert results["accuracy"] >= 0.85
    assert results["contradictions_dropped"] <= 0.01 * 110
    assert results["independent_superseding"] <= 0.1 * 95


def compare(pairs: list[tuple[str, str, str]]) -> list[Comparison]:
    return comparison.compare(pairs, get_embedder().embed)


@settings(max_examples=WITH_DATABASE)
@given(st.text(max_size=80), st.text(max_size=80))
def test_likelihoods_of_whatever_is_said_add_up(old: str, new: str) -> None:
    [found] = compare([(old, new, "fact")])
    assert sum(found) == pytest.approx(1)
    assert all(0 <= one <= 1 for one in found)
    assert compare([(old, new, "fact")]) == [found]


def test_pairs_are_weighed_one_by_one() -> None:
    pairs = [
        ("Mira rents a flat in Oslo.", "Mira shares a farmhouse outside Bergen with her aunt.", "fact"),
        ("Tom plays the lute.", "The lute is what Tom plays.", "fact"),
    ]
    together, apart = compare(pairs), [compare([pair])[0] for pair in pairs]
    for one, other in zip(together, apart, strict=True):
        assert one == pytest.approx(other, abs=0.02)  # a text's vector depends a little on those beside it
    assert compare([]) == []


# Fitting


def test_each_text_is_embedded_once() -> None:
    embedded: list[str] = []

    def embed(texts: Sequence[str]) -> np.ndarray:
        embedded.extend(texts)
        return get_embedder().embed(texts)

    olds = ("The bell hangs in the tower.", "Mira sold the boat.", "Anna keeps the key.")
    together = [Pair(old, "The bell hangs in the harbour.", "fact") for old in olds]
    found = features(together, embed)
    assert len(embedded) == len(set(embedded)) < 4 * len(together)
    for pair, values in zip(together, found, strict=True):
        [alone] = features([pair], embed)
        assert values == pytest.approx(alone, abs=0.02)  # a vector depends a little on those beside it
    assert features([], embed) == []


def fit(*files: Path, out: Path) -> str:
    said = io.StringIO()
    call_command("fit_comparison", *map(str, files), out=out, stdout=said)
    return said.getvalue()


@pytest.mark.explore
def test_what_was_learnt_tells_the_pairs_apart_that_it_was_learnt_from(tmp_path: Path) -> None:
    out, file = tmp_path / "weights.json", tmp_path / "pairs.jsonl"
    file.write_text("\n".join(UNSEEN.read_text(encoding="utf-8").splitlines()[:60]), encoding="utf-8")
    assert "features, learned from" in fit(file, out=out)
    pairs = [pair_of(value, number) for number, value in read_json_lines(file)]
    found = features([Pair(one.existing, one.candidate, one.kind) for one in pairs], get_embedder().embed)
    likeliest = [Comparison._fields[number] for number in read(out).probabilities(found).argmax(axis=1)]
    assert sum(told == one.expected for told, one in zip(likeliest, pairs, strict=True)) >= 45


def test_a_table_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    file, out = tmp_path / "pairs.jsonl", tmp_path / "weights.json"
    file.write_text('{"existing": "Mira lives in Oslo."}\n')
    with pytest.raises(CommandError, match="line 1: 'candidate' is missing"):
        fit(file, out=out)
    with pytest.raises(CommandError, match="No such file"):
        fit(tmp_path / "none.jsonl", out=out)
    assert not out.exists()
