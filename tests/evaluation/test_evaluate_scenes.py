"""``manage.py evaluate --format scenes``: figures of both methods, what is wrong, and lines that are refused."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.evaluation.scenes import evaluate, table


def message(text: str, is_user: bool = False) -> dict[str, Any]:
    return {"name": "Tom" if is_user else "Mira", "is_user": is_user, "mes": text}


PASSAGES = [
    {"messages": [message("Mira hums."), message("Three days later, the fever broke.")], "expected": [1]},
    {"messages": [message("Mira hums."), message("She stayed for a week.", True)], "expected": [0]},
    {"messages": [message("Mira hums."), message('"So it was."', True), message("Hm.")], "expected": [2]},
]


def write(tmp_path: Path, *lines: Any) -> Path:
    file = tmp_path / "scenes.jsonl"
    file.write_text("\n\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return file


def test_both_methods_are_measured_in_one_run(tmp_path: Path) -> None:
    reports: list[str] = []
    results = evaluate(write(tmp_path, *PASSAGES), reports.append)
    assert reports == ["3 passages, 7 messages"]
    assert (results["passages"], results["without_a_break"], results["breaks"]) == (3, 1, 2)
    built_in, original = results["methods"]["built-in"], results["methods"]["original"]
    assert (built_in["precision"], built_in["recall"], built_in["exact"]) == (1.0, 0.5, 0.6667)
    assert (original["precision"], original["recall"], original["f1"]) == (0.5, 0.5, 0.5)
    assert built_in["mistakes"] == [{"line": 5, "index": 2, "mistake": "missed", "excerpt": "Hm."}]
    assert [(one["line"], one["mistake"]) for one in original["mistakes"]] == [(3, "false"), (5, "missed")]


def test_the_table_names_what_is_wrong(tmp_path: Path) -> None:
    text = table(evaluate(write(tmp_path, *PASSAGES), lambda line: None))
    assert "built-in      1.000      0.500      0.667      0.667" in text
    assert "line 3, message 1, false: She stayed for a week." in text


def test_the_command_prints_json(tmp_path: Path) -> None:
    out = io.StringIO()
    call_command("evaluate", str(write(tmp_path, *PASSAGES)), "--format", "scenes", "--json", stdout=out, stderr=out)
    assert json.loads(out.getvalue().split("\n", 1)[1])["methods"]["built-in"]["f1"] == 0.6667


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ([], "line 3 is not an object"),
        ({"expected": []}, "line 3: 'messages' is missing"),
        ({"messages": [], "expected": "1"}, "line 3: 'expected' has the wrong type"),
        (
            {"messages": [{"name": "Mira", "is_user": False}], "expected": []},
            r"line 3: messages\[0\]: 'mes' is missing",
        ),
        ({"messages": [{"name": "Mira", "is_user": 1, "mes": ""}], "expected": []}, r"messages\[0\]: 'is_user' has"),
        ({"messages": [3], "expected": []}, r"line 3: messages\[0\] is not an object"),
        ({"messages": [message("x")], "expected": [1]}, r"line 3: expected\[0\] is not the position"),
        ({"messages": [message("x")], "expected": [[]]}, r"line 3: expected\[0\] is not the position"),
        ({"messages": [message("x")], "expected": [True]}, r"line 3: expected\[0\] is not the position"),
    ],
)
def test_a_line_that_is_not_of_the_format_is_refused(tmp_path: Path, line: Any, complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        call_command("evaluate", str(write(tmp_path, PASSAGES[0], line)), "--format", "scenes", stderr=io.StringIO())


@pytest.mark.parametrize(
    ("content", "complaint"), [(b"", "no line"), (b"{}\n{", "line 1"), (b"\xff", "line 1 is not JSON")]
)
def test_a_file_that_is_not_of_the_format_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    file = tmp_path / "scenes.jsonl"
    file.write_bytes(content)
    with pytest.raises(CommandError, match=complaint):
        call_command("evaluate", str(file), "--format", "scenes", stderr=io.StringIO())
