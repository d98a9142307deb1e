"""``manage.py evaluate --format verdicts``: the memories of a chat, and what becomes of them next to each other."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

MOVES = [
    "*Mira moved to Paris in March with her brother Tom.*",
    "*Mira left Paris on the third of May and moved to Lyon without her brother Tom.*",
]
STORIES = Path(__file__).parents[2] / "apps" / "launcher" / "demo"


def evaluated(file: Path, *options: str) -> str:
    out = io.StringIO()
    call_command("evaluate", str(file), "--format", "verdicts", *options, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def chat(tmp_path: Path, *texts: str) -> Path:
    file = tmp_path / "chat.jsonl"
    rows: list[dict[str, Any]] = [{"user_name": "Tom", "character_name": "Mira"}]
    rows += [{"name": "Mira", "is_user": False, "mes": text} for text in texts]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def test_a_change_is_counted_and_shown(tmp_path: Path) -> None:
    file = chat(tmp_path, *MOVES)
    results = json.loads(evaluated(file, "--json"))
    assert results["verdicts"]["superseded"] == len(results["pairs"]) >= 1
    assert {(pair["existing"], pair["candidate"]) for pair in results["pairs"]} == {tuple(m.strip("*") for m in MOVES)}
    assert evaluated(file).startswith(f"{results['memories']} memories, {results['kept']} kept: ")


def test_few_memories_of_a_real_story_replace_another() -> None:
    results = json.loads(evaluated(STORIES / "the_salt_road.jsonl", "--json"))
    assert results["memories"] > 30
    assert results["superseded_per_100_kept"] <= 3


def test_a_file_without_messages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no line is a message"):
        evaluated(chat(tmp_path))
