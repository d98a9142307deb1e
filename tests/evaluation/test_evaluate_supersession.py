"""``manage.py evaluate --format supersession``: the figures, what is wrong, lines that are refused, and the table of
ours, which the engine's own verdicts have to tell apart without a model."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.evaluation.supersession import evaluate, table

OURS = Path(__file__).parents[1] / "data" / "supersession.jsonl"
PAIR = {
    "existing": "Mira lives in Port Salt.",
    "candidate": "Mira moved to Harrow last spring.",
    "kind": "fact",
    "expected": "superseded",
}
PAIRS = [
    PAIR,
    PAIR | {"candidate": "Mira's home is in Port Salt.", "expected": "duplicate"},
    PAIR | {"candidate": "Mira is afraid of spiders.", "kind": "detail", "expected": "passed"},
    PAIR | {"expected": "passed"},
]


def write(tmp_path: Path, *lines: Any) -> Path:
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return file


def test_pairs_get_verdicts(tmp_path: Path) -> None:
    reports: list[str] = []
    results = evaluate(write(tmp_path, *PAIRS), reports.append)
    assert reports == ["4 pairs"]
    assert (results["pairs"], results["right"], results["accuracy"]) == (4, 3, 0.75)
    assert results["confusion"]["passed"] == {"superseded": 1, "duplicate": 0, "passed": 1}
    assert results["contradictions_dropped"] == 0
    (wrong,) = results["wrong"]
    assert (wrong["line"], wrong["expected"], wrong["got"], wrong["reason"]) == (
        4,
        "passed",
        "superseded",
        "comparison",
    )
    assert 0.3 < wrong["similarity"] < 1


def test_the_table_shows_both_texts_of_what_is_wrong(tmp_path: Path) -> None:
    text = table(evaluate(write(tmp_path, *PAIRS), lambda line: None))
    assert text.startswith(
        "accuracy 0.750 (3 of 4)\n"
        "contradictions dropped as duplicates: 0 of 1\n"
        "independent statements that supersede another: 1 of 2\n"
    )
    assert "  line 4: passed, got superseded" in text
    assert "    Mira lives in Port Salt.\n    Mira moved to Harrow last spring." in text


def test_the_command_prints_json(tmp_path: Path) -> None:
    out = io.StringIO()
    file = str(write(tmp_path, PAIR))
    call_command("evaluate", file, "--format", "supersession", "--json", stdout=out, stderr=io.StringIO())
    assert json.loads(out.getvalue())["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ([], "line 2 is not an object"),
        ({key: PAIR[key] for key in ("existing", "kind", "expected")}, "line 2: 'candidate' is missing"),
        (PAIR | {"existing": 3}, "line 2: 'existing' has the wrong type"),
        (PAIR | {"candidate": "  "}, "line 2: 'candidate' is empty"),
        (PAIR | {"kind": "rumour"}, "line 2: 'kind' is not one of"),
        (PAIR | {"expected": "maybe"}, "line 2: 'expected' is not one of superseded, duplicate, passed"),
    ],
)
def test_lines_that_are_refused(tmp_path: Path, line: Any, complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        call_command("evaluate", str(write(tmp_path, PAIR, line)), "--format", "supersession", stderr=io.StringIO())


@pytest.mark.explore
def test_few_contradictions_of_our_table_are_dropped_and_few_independent_statements_replace_another() -> None:
    results = evaluate(OURS, lambda line: None)
    assert results["pairs"] >= 600
    assert results["contradictions_dropped"] <= 0.01 * sum(results["confusion"]["superseded"].values())
    assert results["independent_superseding"] <= 0.1 * sum(results["confusion"]["passed"].values())
