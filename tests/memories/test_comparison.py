"""What no rule decides is weighed: rightly too where nothing was learnt from it, within bounds, never of quotations."""

import io
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.evaluation.json_lines import read_json_lines
from apps.evaluation.supersession import evaluate, judge_by_rules, pair_of
from apps.extraction.stages.judging import compare_by
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder
from apps.memories.comparison import Comparison, compare, weighing
from apps.memories.comparison.signals import Pair, signals
from apps.memories.regression import read
from apps.memories.verdicts import Outcome, Verdict, judge
from tests.memories.test_verdicts import known, line, unit

DATA = Path(__file__).parents[1] / "data"
UNSEEN = DATA / "supersession_held_out.jsonl"  # by authors whose pairs were neither fitted to nor looked at


def test_statements_by_others_are_told_apart_and_no_contradiction_is_dropped() -> None:
    results = evaluate(UNSEEN, lambda line: None)
    assert results["pairs"] >= 250
    assert results["accuracy"] >= 0.85
    assert results["contradictions_dropped"] == 0
    by_rules = judge_by_rules([pair_of(value, number) for number, value in read_json_lines(UNSEEN)][::4])
    assert results["accuracy"] >= sum(one.got == one.expected for one in by_rules) / len(by_rules) + 0.1


@settings(max_examples=30)
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


# In dedup


class Scales:
    """Says the same of every pair, and remembers which it was asked about."""

    def __init__(self, superseded: float, duplicate: float) -> None:
        self.found = Comparison(superseded, duplicate, 1 - superseded - duplicate)
        self.asked: list[tuple[str, str, str]] = []

    def __call__(self, pairs: Sequence[tuple[str, str, str]]) -> list[Comparison]:
        self.asked += pairs
        return [self.found] * len(pairs)


OLD = "Mira keeps the bridge."
NEW = "Mira herds goats in the hills."


def weighed(scales: Scales, old: str = OLD, new: str = NEW, similarity: float = 0.5, **fields: object) -> Verdict:
    return judge([line(new)], [[known(old, similarity, **fields)]], unit(0.0), compare=scales)[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("superseded", "duplicate", "outcome"),
    [
        (0.45, 0.0, Outcome.SUPERSEDED),
        (0.44, 0.1, Outcome.PASSED),
        (0.1, 0.65, Outcome.RECONFIRMED),
        (0.2, 0.7, Outcome.PASSED),  # it may as well be a change: nothing is lost
        (0.0, 0.6, Outcome.PASSED),
    ],
)
def test_from_which_likelihood_a_comparison_decides(superseded: float, duplicate: float, outcome: Outcome) -> None:
    assert weighed(Scales(superseded, duplicate)).outcome == outcome


@pytest.mark.parametrize(
    ("old", "new", "similarity", "fields"),
    [
        ("Mira: “I keep the bridge.”", NEW, 0.5, {}),
        (OLD, "Mira: “I herd goats in the hills.”", 0.5, {}),
        (OLD, NEW, 0.34, {}),
        (OLD, NEW, 0.5, {"kind": "event"}),
        (OLD, NEW, 0.5, {"forgotten": True}),
    ],
    ids=["a quotation", "by a quotation", "too far", "of another kind", "forgotten"],
)
def test_what_is_not_weighed(old: str, new: str, similarity: float, fields: dict[str, object]) -> None:
    scales = Scales(1.0, 0.0)
    assert weighed(scales, old, new, similarity, **fields).outcome == Outcome.PASSED
    assert scales.asked == []


def test_only_the_nearest_is_weighed_and_a_rule_goes_first() -> None:
    scales = Scales(0.0, 0.0)
    far, near = known("Mira fears the sea.", 0.4), known(OLD, 0.5)
    judge([line(NEW)], [[near, far]], unit(0.0), compare=scales)
    assert scales.asked == [(OLD, NEW, "fact")]
    moved = judge([line("Mira moved to Rome.")], [[known("Mira lives in Oslo.", 0.6)]], unit(0.0), compare=scales)[0]
    assert (moved.outcome, moved.reason, len(scales.asked)) == (Outcome.SUPERSEDED, "home", 1)


def test_what_happened_is_not_replaced_by_what_happens_next() -> None:
    told = [line(NEW, "event")], [[known(OLD, 0.5, "event")]], unit(0.0)
    assert judge(*told, compare=Scales(1.0, 0.0))[0].outcome == Outcome.PASSED
    assert judge(*told, compare=Scales(0.0, 1.0))[0].outcome == Outcome.RECONFIRMED


def test_a_line_of_the_same_batch_may_be_what_is_replaced_or_repeated() -> None:
    lines = [line(OLD, source=1), line(NEW, source=2)]
    first, second = judge(lines, [[], []], unit(0.0, 1.0), compare=Scales(0.9, 0.0))
    assert (first.outcome, second.outcome, second.earlier) == (Outcome.PASSED, Outcome.SUPERSEDED, 0)
    _, repeated = judge(lines, [[], []], unit(0.0, 1.0), compare=Scales(0.0, 0.9))
    assert repeated.outcome == Outcome.REJECTED


def test_what_was_said_before_what_is_known_replaces_nothing() -> None:
    old = known(OLD, 0.5, since=9)
    verdict = judge([line(NEW, source=3)], [[old]], unit(0.0), compare=Scales(0.9, 0.0))[0]
    assert verdict.outcome == Outcome.PASSED


def test_without_this_machine_s_model_all_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise EmbeddingUnavailable("no model")

    monkeypatch.setattr(weighing, "get_embedder", broken)
    context: Any = SimpleNamespace(backend=SimpleNamespace(name="builtin"))
    compare = compare_by(context, "long_term")
    assert compare is not None
    verdict = judge([line(NEW)], [[known(OLD, 0.5)]], unit(0.0), compare=compare)[0]
    assert verdict.outcome == Outcome.PASSED
    assert compare_by(context, "session") is None


# Fitting


def fit(*files: Path, out: Path) -> str:
    said = io.StringIO()
    call_command("fit_comparison", *map(str, files), out=out, stdout=said)
    return said.getvalue()


def test_what_was_learnt_tells_the_pairs_apart_that_it_was_learnt_from(tmp_path: Path) -> None:
    out, file = tmp_path / "weights.json", tmp_path / "pairs.jsonl"
    file.write_text("\n".join(UNSEEN.read_text(encoding="utf-8").splitlines()[:60]), encoding="utf-8")
    assert "signals, learnt from" in fit(file, out=out)
    pairs = [pair_of(value, number) for number, value in read_json_lines(file)]
    found = signals([Pair(one.existing, one.candidate, one.kind) for one in pairs], get_embedder().embed)
    likeliest = [Comparison._fields[number] for number in read(out).likelihoods(found).argmax(axis=1)]
    assert sum(told == one.expected for told, one in zip(likeliest, pairs, strict=True)) >= 45


def test_a_table_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    file, out = tmp_path / "pairs.jsonl", tmp_path / "weights.json"
    file.write_text('{"existing": "Mira lives in Oslo."}\n')
    with pytest.raises(CommandError, match="line 1: 'candidate' is missing"):
        fit(file, out=out)
    with pytest.raises(CommandError, match="No such file"):
        fit(tmp_path / "none.jsonl", out=out)
    assert not out.exists()
