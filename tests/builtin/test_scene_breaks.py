"""Where scenes begin: jumps, headings and separators do it; speech, plans, habits and steps across a room do not."""

import datetime as dt
import io
import json
import time
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.builtin.scene_breaks import SceneTurn, begins_scene, inputs, likelihoods, scene_starts
from apps.builtin.scene_breaks.detection import MIN_LIKELIHOOD
from apps.builtin.scene_breaks.network import Network
from apps.evaluation.original_scene_patterns import original_scene_starts
from apps.llm.embeddings import EmbeddingUnavailable
from tests.lanes import sampled

DATA = Path(__file__).parents[1] / "data"
# Passages by several authors, to which nothing was fitted, and the least precision and recall.
TABLES = {"scenes_held_out": 40, "scenes_unseen": 150}
BEFORE = [SceneTurn("Tom", True, '"Well then," I said.'), SceneTurn("Mira", False, 'Mira shrugged. "As you like."')]


def begins(text: str, before: list[SceneTurn] = BEFORE) -> bool:
    return begins_scene(before, SceneTurn("Mira", False, text))


def marked(text: str) -> bool:
    """Return whether a message begins a scene even where nothing is known of likelihoods."""
    return scene_starts([*BEFORE, SceneTurn("Mira", False, text)], min_messages=1) == [2]


@pytest.mark.parametrize(
    "text",
    [
        "***\nThe hall was dark.",
        "She nodded.\n\n- - -\n\nThe hall was dark.",
        "Chapter 3\nThe hall was dark.",
        "# Part Two: The Road",
        "[Two days later]\nThe hall was dark.",
        "(Meanwhile, in the castle)\nThe king paced.",
        "**Six months later**\nThe garden had grown.",
        "INT. KITCHEN – NIGHT\nThe tap drips.",
        "Location: the old docks\n*Fog rolls in.*",
        "*Timeskip to the wedding*",
    ],
)
def test_a_separator_or_a_heading_begins_a_scene(text: str) -> None:
    assert marked(text)
    assert begins(text)


@pytest.mark.parametrize(
    "text",
    [
        "Three days later, the fever broke.",
        "*The next morning Mira finds the note.*",
        "The following evening they met again by the well.",
        "By nightfall they had crossed the ridge.",
        "They arrived in Paris at noon.",
        "Across town, a phone was ringing.",
        "The harbour lay empty under the snow.",
        "Beneath the arena, an old woman sewed by a lamp.",
    ],
)
def test_a_jump_in_the_story_begins_a_scene(text: str) -> None:
    assert begins(text)


@pytest.mark.parametrize(
    "text",
    [
        '"See you the next day," she said.',
        '"Three days later he was dead. A week later, so was she.',
        "Tomorrow they would ride to the capital.",
        "She walked to the door and looked out.",
        "He crossed to the window, then walked over to her desk.",
        "He walked to Mira and took her hand.",
        "A few moments later she looked up.",
        "***shouts***",
        "**Bold** *nods*",
        "*nods* **Yes**",
        "```\n***\nThree days later\n```",
        "(OOC: skip to the next morning?)",
        "((the next day maybe?)) *nods*",
        "...",
    ],
)
def test_speech_plans_and_steps_begin_none(text: str) -> None:
    assert not begins(text)


def test_a_user_begins_a_scene_as_well() -> None:
    assert begins_scene(BEFORE, SceneTurn("Tom", True, "*Later that night, I knock on her door.*"))


def test_a_separator_at_the_end_of_a_message_begins_a_scene_with_the_next() -> None:
    turns = [
        *BEFORE,
        SceneTurn("Tom", True, '"Good night."\n\n***'),
        SceneTurn("Mira", False, 'Mira yawned. "You look tired."'),
    ]
    assert scene_starts(turns, min_messages=1) == [3]


def test_a_writer_who_closes_every_message_with_a_separator_separates_nothing() -> None:
    turns = [SceneTurn(name, name == "Tom", '"Hm."\n\n---') for name in ("Tom", "Mira") * 5]
    assert scene_starts(turns, min_messages=1)[2:] == []


def test_a_long_pause_begins_a_scene() -> None:
    noon = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    before = [SceneTurn("Ana", True, "off to work!", noon)]
    assert begins_scene(before, SceneTurn("Bo", False, "hey", noon + dt.timedelta(hours=6)))
    assert not begins_scene(before, SceneTurn("Bo", False, "hey", noon + dt.timedelta(hours=5)))
    assert not begins_scene(before, SceneTurn("Bo", False, "hey"))


def test_a_scene_has_a_least_length() -> None:
    turns = [
        *BEFORE,
        *(SceneTurn("Mira", False, f"***\nThe {word} morning.") for word in ("first", "red", "blue", "old")),
    ]
    assert scene_starts(turns[:5], min_messages=3) == [3]
    assert scene_starts(BEFORE) == []
    assert scene_starts([]) == []


@pytest.mark.parametrize(("table", "least"), sampled(TABLES.items(), 1))
def test_the_tables_are_found_well(table: str, least: int) -> None:
    right = found = expected = quiet = passages = 0
    for line in (DATA / f"{table}.jsonl").read_text(encoding="utf-8").splitlines():
        passage = json.loads(line)
        turns = [SceneTurn(item["name"], item["is_user"], item["mes"]) for item in passage["messages"]]
        starts = set(scene_starts(turns, min_messages=1, likely=likelihoods(turns)))
        gold = set(passage["expected"]) - {0}
        right, found, expected = right + len(starts & gold), found + len(starts), expected + len(gold)
        passages, quiet = passages + 1, quiet + (not gold)
    assert passages >= least
    assert quiet >= 0.4 * passages
    assert right / found >= 0.90
    assert right / expected >= 0.85


def test_long_chats_are_not_cut_to_pieces() -> None:
    """Of the messages of long scenes, told at length, few are taken for beginnings."""
    wrong = messages = 0
    for line in (DATA / "scenes_long.jsonl").read_text(encoding="utf-8").splitlines():
        passage = json.loads(line)
        turns = [SceneTurn(item["name"], item["is_user"], item["mes"]) for item in passage["messages"]]
        starts = set(scene_starts(turns, likely=likelihoods(turns)))
        wrong, messages = wrong + len(starts - set(passage["expected"])), messages + len(turns)
    assert messages >= 200
    assert wrong <= 0.03 * messages


def test_what_is_likely_begins_a_scene_unless_one_just_began() -> None:
    turns = [SceneTurn("Tom" if number % 2 else "Mira", False, "Mira shrugged.") for number in range(6)]
    likely = [0.0, 0.29, 0.3, 0.9, 0.9, 0.0]
    assert scene_starts(turns, min_messages=1) == []
    assert scene_starts(turns, min_messages=1, likely=likely) == [2, 4]
    assert scene_starts(turns, min_messages=3, likely=likely) == [3]


def test_the_first_message_never_begins_a_scene() -> None:
    opening = SceneTurn("Mira", False, "***\nThe next morning, the harbour lay empty.")
    assert not begins_scene([], opening)
    assert likelihoods([opening]) == [0.0]
    assert likelihoods([]) == []


def test_without_an_embedding_model_words_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable() -> None:
        raise EmbeddingUnavailable("no model")

    monkeypatch.setattr(inputs, "get_embedder", unavailable)
    later = SceneTurn("Mira", False, "Two days later, in the evening, a letter was lying on the table.")
    likely = likelihoods([*BEFORE, later, SceneTurn("Tom", True, '"For me?" I ask.')])
    assert likely[2] >= MIN_LIKELIHOOD > likely[3]


@pytest.mark.parametrize("text", ["She stayed for a week.", "He walked to the door.", '"See you the next day."',
                                  "***shouts***", "**Bold** *nods*", "*nods* **Yes**"])  # fmt: skip
def test_the_original_takes_these_for_beginnings(text: str) -> None:
    assert original_scene_starts([BEFORE[0], SceneTurn("Mira", False, text)]) == [1]


@pytest.mark.parametrize("text", ["They arrived in Paris.", "They returned to Paris.", "She walked to her desk.",
                                  "He entered the room.", "*a* *b*", "- - -", "==="])  # fmt: skip
def test_the_original_does_not_see_these(text: str) -> None:
    assert original_scene_starts([BEFORE[0], SceneTurn("Mira", False, text)]) == []


WORDS = st.sampled_from(
    ["The next morning", "***", "---", '"', "*", "**", "```", "\n", "\n\n", "she woke", "to the castle", "'", "“", "”",
     "(OOC", ")", "[", "]", "Chapter 3", "Location:", "every", "would", "night fell", ",", ".", "three days later", "—"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=20).map(" ".join))
CHATS = st.lists(st.builds(SceneTurn, st.sampled_from(["Tom", "Mira"]), st.booleans(), TEXTS), max_size=7)


@given(CHATS)
def test_any_text_is_taken(turns: list[SceneTurn]) -> None:
    starts = scene_starts(turns, min_messages=1)
    assert starts == sorted(set(starts))
    assert all(0 < start < len(turns) for start in starts)


@settings(max_examples=30)
@given(CHATS, st.integers(0, 3))
def test_of_any_text_there_is_a_likelihood(turns: list[SceneTurn], first: int) -> None:
    found = likelihoods(turns, first)
    assert len(found) == len(turns)
    assert all(0 <= one <= 1 for one in found)
    assert not any(found[: max(first, 1)])


@given(CHATS)
def test_line_ends_make_no_difference(turns: list[SceneTurn]) -> None:
    windows = [SceneTurn(turn.name, turn.is_user, turn.text.replace("\n", "\r\n")) for turn in turns]
    assert scene_starts(windows, min_messages=1) == scene_starts(turns, min_messages=1)


@given(CHATS, CHATS)
def test_what_comes_after_changes_no_beginning_but_the_last_message_s(
    turns: list[SceneTurn], more: list[SceneTurn]
) -> None:
    settled = [start for start in scene_starts(turns, min_messages=1) if start < len(turns) - 1]
    longer = scene_starts([*turns, *more], min_messages=1)
    assert [start for start in longer if start < len(turns) - 1] == settled


@pytest.mark.parametrize(
    "piece", ["*", "“", "'a", "(", "the next ", "a few ", "[", "- ", "— ", "walk to ", "A'", "one "]
)
def test_a_huge_message_is_read_in_time(piece: str) -> None:
    started = time.monotonic()
    scene_starts([BEFORE[0], SceneTurn("Mira", False, piece * (40_000 // len(piece)))], min_messages=1)
    assert time.monotonic() - started < 60


@pytest.mark.explore
def test_weights_are_learned_from_tables(tmp_path: Path) -> None:
    out, again, said = tmp_path / "weights.npz", tmp_path / "again.npz", io.StringIO()
    for file in (out, again):
        call_command("fit_scenes", str(DATA / "scenes_held_out.jsonl"), out=file, stdout=said)
    assert "inputs, learned from 45 passages" in said.getvalue()
    assert np.array_equal(Network.load(out).hidden, Network.load(again).hidden)
    bad = tmp_path / "passages.jsonl"
    bad.write_text('{"messages": []}\n')
    with pytest.raises(CommandError, match="line 1"):
        call_command("fit_scenes", str(bad), out=tmp_path / "none.npz")
    assert not (tmp_path / "none.npz").exists()
