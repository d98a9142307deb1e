"""Test ``manage.py evaluate --format extraction``, which compares the built-in extractor with three baselines."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.evaluation.annotations import read_sessions
from apps.evaluation.datasets import UnusableDataset
from apps.evaluation.extraction import evaluate, table

FACTS = [
    "I moved to Lyon with my sister Anna in May.",
    "Tom sold the blue boat to Mr. Reed yesterday.",
    "My brother Paul works as a pilot in Oslo.",
    "I prefer the winters of Oslo to those of Rome.",
]
SMALL_TALK = [
    "Oh that is so very lovely to hear from you again, it really sounds like such a great and wonderful thing to do!",
    "Wow, that is great! How do you feel about all of it now?",
]


def turns(texts: list[str], session: int = 1) -> list[dict[str, str]]:
    return [
        {"speaker": ("Ines", "Paul")[number % 2 - 1], "dia_id": f"D{session}:{number}", "text": text}
        for number, text in enumerate(texts, 1)
    ]


def sample(**changes: Any) -> dict[str, Any]:
    """Return a LoCoMo sample in which small talk precedes each fact, and the facts are annotated."""
    texts = [text for fact in FACTS for text in (*SMALL_TALK, fact)]
    return {
        "sample_id": "two-friends",
        "conversation": {"speaker_a": "Ines", "session_1": turns(texts), "session_2": turns(SMALL_TALK, 2)},
        "observation": {
            "session_1_observation": {
                "Ines": [["She moved.", "D1:3"], ["A boat and a brother.", ["D1:6", "D1:9"]]],
                "Paul": [["He likes winters.", "D1:12; D9:9"]],
            }
        },
        **changes,
    }


def write(tmp_path: Path, data: Any) -> Path:
    file = tmp_path / "data.json"
    file.write_text(json.dumps(data))
    return file


def test_the_annotated_turns_of_a_session_are_read() -> None:
    [session] = read_sessions([sample()])
    assert session.conversation == "two-friends"
    assert len(session.turns) == 12
    assert [session.turns[index].text for index in sorted(session.annotated)] == FACTS
    assert [turn.is_user for turn in session.turns[:2]] == [True, False]


def test_every_method_keeps_as_many_and_the_built_in_one_covers_the_facts(tmp_path: Path) -> None:
    results = evaluate(write(tmp_path, [sample()]), lambda line: None)
    methods = results["methods"]
    assert methods["built-in"] == {"coverage": 1.0, "same turns": 1.0, "precision": 1.0, "turns": 4.0}
    assert (results["sessions"], results["annotated_turns"], results["memories_a_session"]) == (1, 4, 4)
    assert methods["longest"]["coverage"] == 0
    assert methods["first"]["coverage"] == 0.25  # its four sentences are those of three turns
    assert 0 < methods["random"]["coverage"] < 1
    assert results["conversations"] == {"two-friends": methods}
    assert evaluate(write(tmp_path, sample()), lambda line: None) == results


def test_the_command_prints_a_line_for_each_method_or_json(tmp_path: Path) -> None:
    file = str(write(tmp_path, [sample()]))
    out, as_json = io.StringIO(), io.StringIO()
    call_command("evaluate", file, "--format", "extraction", stdout=out, stderr=io.StringIO())
    call_command("evaluate", file, "--format", "extraction", "--json", stdout=as_json, stderr=io.StringIO())
    lines = out.getvalue().splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["built-in", "random", "longest", "first"]
    assert lines[5] == "1 sessions, 4 annotated turns, 4.00 memories a session"
    assert table(json.loads(as_json.getvalue())) == out.getvalue().rstrip("\n")


def test_a_chat_without_facts_is_measured(tmp_path: Path) -> None:
    data = sample(
        conversation={"session_1": turns(SMALL_TALK)}, observation={"session_1_observation": {"Ines": [["?", "D1:1"]]}}
    )
    results = evaluate(write(tmp_path, [data]), lambda line: None)
    assert results["memories_a_session"] == 0
    assert all(row["coverage"] == row["precision"] == 0 for row in results["methods"].values())


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ([], "no session has an observation"),
        ([3], r"\[0\] is not an object"),
        ([{}], r"\[0\]: 'conversation' is missing"),
        ([{"conversation": {}}], r"\[0\]: 'observation' is missing"),
        ([sample(observation=[])], r"'observation' has the wrong type \(list\)"),
        ([sample(observation={})], "no session has an observation"),
        (
            [sample(observation={"session_1_observation": 1})],
            r"\[0\].observation: 'session_1_observation' has the wrong",
        ),
        (
            [sample(observation={"session_1_observation": {"Ines": {}}})],
            r"observation.session_1_observation: 'Ines' has the wrong type",
        ),
        ([sample(observation={"session_1_observation": {"Ines": [["x"]]}})], r"session_1_observation.Ines\[0\] is not"),
        (
            [sample(conversation={"session_1": [{"speaker": "Ines"}]})],
            r"conversation.session_1\[0\]: 'text' is missing",
        ),
        ([sample(conversation={"session_1": [None]})], r"conversation.session_1\[0\] is not an object"),
    ],
)
def test_errors_in_the_data_name_the_place(data: Any, complaint: str) -> None:
    with pytest.raises(UnusableDataset, match=complaint):
        read_sessions(data)


def test_a_file_that_is_not_json_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    file.write_text("no")
    with pytest.raises(CommandError, match="not JSON"):
        call_command("evaluate", str(file), "--format", "extraction")
