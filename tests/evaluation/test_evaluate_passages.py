"""Test ``manage.py evaluate --format passages``, which counts the facts that are kept and the traps that are stored."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.evaluation.passages import evaluate


def passage(*texts: str, **changes: Any) -> dict[str, Any]:
    messages = [
        {"id": number, "name": "Sam", "is_user": True, "mes": text, "send_date": "2026-03-09T10:00:00Z"}
        for number, text in enumerate(texts, 1)
    ]
    return {"id": "p1", "language": "en", "messages": messages, "facts": [], "traps": [], **changes}


def write(tmp_path: Path, *passages: Any) -> Path:
    file = tmp_path / "passages.jsonl"
    file.write_text("\n".join(map(json.dumps, passages)))
    return file


def test_facts_and_traps_are_counted_by_language(tmp_path: Path) -> None:
    facts = [
        {"text": "Sam is vegan.", "sources": [1], "keywords": ["sam", "vegan|plants"]},
        {"text": "Sam sold the boat on 8 March.", "sources": [2], "keywords": ["boat", "8 March 2026"]},
        {"text": "Sam has a dog.", "sources": [1], "keywords": ["dog"]},
    ]
    traps = [{"text": "Sam is the Pope.", "sources": [2], "keywords": ["boat"]}, {"keywords": ["Pope"]}]
    file = write(
        tmp_path,
        passage("I'm vegan.", "Yesterday I sold my boat to Anna.", facts=facts, traps=traps),
        passage("Okay.", language="de", id="p2"),
    )
    results = evaluate(file, lambda line: None)
    row = results["languages"]["en"]
    assert (row["kept"], row["traps"], row["a message"], row["on facts"]) == (0.667, 0.5, 1.0, 1.0)
    assert results["languages"]["de"]["a message"] == 0
    assert results["passages"][0]["missed"] == ["Sam has a dog."]
    out = io.StringIO()
    call_command("evaluate", str(file), "--format", "passages", stdout=out, stderr=io.StringIO())
    assert [line.split()[0] for line in out.getvalue().splitlines()] == ["messages", "de", "en", "all"]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({}, "line 1: 'messages' is missing"),
        (passage("Hi.", facts=[{"keywords": []}]), r"line 1: facts\[0\] has no keywords"),
        (passage("Hi.", messages=[{"id": 1, "name": "Sam"}]), "line 1: a message: 'mes' is missing"),
    ],
)
def test_errors_in_the_file_name_the_place(tmp_path: Path, value: Any, complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        call_command("evaluate", str(write(tmp_path, value)), "--format", "passages", stderr=io.StringIO())
