"""Where scenes begin: narrative jumps do it; speech, plans, habits, memories, steps across a room and markup do not."""

import datetime as dt
import io
import json
import time
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.builtin.scene_breaks import Break, Turn, begins_scene, likelihoods, scene_starts
from apps.builtin.scene_patterns_seed import seed_scene_starts
from apps.english.regression import read

DATA = Path(__file__).parents[1] / "data"
# Passages of several authors. To the last two files neither rules nor weights were fitted.
TABLES = {"scenes": 80, "scenes_held_out": 40, "scenes_unseen": 150}
BEFORE = [Turn("Tom", True, '"Well then," I said.'), Turn("Mira", False, 'Mira shrugged. "As you like."')]


def begins(text: str, before: list[Turn] = BEFORE) -> Break | None:
    return begins_scene(before, Turn("Mira", False, text))


@pytest.mark.parametrize(
    "text",
    [
        "Three days later, the fever broke.",
        "*The next morning Mira finds the note.*",
        "The following evening they met again by the well.",
        "Later that night, somebody knocked.",
        "Weeks passed. No word came.",
        "By nightfall they had crossed the ridge.",
        "Night fell over the camp, and the fires were lit.",
        "Mira woke with a start.",
        "They arrived in Paris at noon.",
        "*You reach the village as the rain begins.*",
        "I returned to Port Salt with the others.",
        "They rode to the castle without a word.",
        "Meanwhile, in the castle, the king paced.",
        "Across town, a phone was ringing.",
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
def test_a_jump_in_the_story_begins_a_scene(text: str) -> None:
    assert begins(text)


@pytest.mark.parametrize(
    "text",
    [
        '"See you the next day," she said.',
        "‘The next morning he was gone,’ she said.",
        '"Three days later he was dead. A week later, so was she.',
        "Every morning she woke at six and walked to the harbour.",
        "She stayed for a week, and it was enough.",
        "Tomorrow they would ride to the capital.",
        "If they left at dawn they could reach the pass by nightfall.",
        "She remembered the summer in Oslo. They had arrived at the inn at dusk.",
        "Last week she had walked to the village.",
        "Two years ago they had fled to Port Salt.",
        "She walked to the door and looked out.",
        "He crossed to the window, then walked over to her desk.",
        "He walked to Mira and took her hand.",
        "The road led to the castle.",
        "A stranger walked into the tavern.",
        "A few moments later she looked up.",
        "It was as quiet as the morning after a feast.",
        "***shouts***",
        "**Bold** *nods*",
        "*nods* **Yes**",
        "```\n***\nThree days later\n```",
        "(OOC: skip to the next morning?)",
        "((the next day maybe?)) *nods*",
        "...",
    ],
)
def test_what_is_no_jump_begins_none(text: str) -> None:
    assert begins(text) is None


def test_a_beginning_tells_what_it_is_seen_from() -> None:
    assert begins("Three days later, the fever broke.") == Break("Three days later")
    assert begins("***\nThe hall was dark.") == Break("separator")
    assert begins("Chapter 3\nThe hall was dark.") == Break("heading")


def test_a_user_begins_a_scene_as_well() -> None:
    assert begins_scene(BEFORE, Turn("Tom", True, "*Later that night, I knock on her door.*"))


def test_a_separator_at_the_end_of_a_message_begins_a_scene_with_the_next() -> None:
    turns = [*BEFORE, Turn("Tom", True, '"Good night."\n\n***'), Turn("Mira", False, 'Mira yawned. "You look tired."')]
    assert scene_starts(turns, min_messages=1) == [3]


def test_a_writer_who_closes_every_message_with_a_separator_separates_nothing() -> None:
    turns = [Turn(name, name == "Tom", '"Hm."\n\n---') for name in ("Tom", "Mira") * 5]
    assert scene_starts(turns, min_messages=1)[2:] == []


def test_the_reply_to_a_beginning_is_no_second_one() -> None:
    asked = Turn("Tom", True, "*The next morning I knock on her door.*")
    reply = Turn("Mira", False, '*Morning light streams in as Mira opens the door.* "You?"')
    assert scene_starts([*BEFORE, asked, reply], min_messages=1) == [2]


def test_somebody_at_a_place_already_does_not_get_there() -> None:
    there = [*BEFORE, Turn("Mira", False, "The fire in the tavern burned low.")]
    assert begins("Tom walked into the tavern again.", there) is None


def test_a_long_pause_begins_a_scene() -> None:
    noon = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    before = [Turn("Ana", True, "off to work!", noon)]
    assert begins_scene(before, Turn("Bo", False, "hey", noon + dt.timedelta(hours=6))) == Break("pause")
    assert begins_scene(before, Turn("Bo", False, "hey", noon + dt.timedelta(hours=5))) is None
    assert begins_scene(before, Turn("Bo", False, "hey")) is None


def test_a_scene_has_a_least_length() -> None:
    turns = [*BEFORE, *(Turn("Mira", False, f"***\nThe {word} morning.") for word in ("first", "red", "blue", "old"))]
    assert scene_starts(turns[:5], min_messages=3) == [3]
    assert scene_starts(BEFORE) == []
    assert scene_starts([]) == []


@pytest.mark.parametrize(
    "text",
    [
        "The bishop received them in his nightshirt.",
        "The harbour lay empty under the snow.",
        "In Vienna it was snowing.",
        "Beneath the arena, an old woman sewed by a lamp.",
        "They found the dog at first light, under the oaks.",
        "Sixty miles on, the road gave out.",
        "It was past two when the first board creaked.",
    ],
)
def test_a_message_that_opens_on_another_setting_begins_a_scene(text: str) -> None:
    before = [Turn("Tom", True, '"Is it far?" I ask.'), Turn("Mira", False, '"We must see the bishop. Let\'s go."')]
    assert begins(text, before)


@pytest.mark.parametrize(
    "text",
    [
        "The kitchen is small, so she talks to you through the hatch.",
        "The city lies below them, white in the sun.",
        "The house is pitch black.",
        '"Always late." The café is packed tonight.',
        "Under the table, her foot finds yours.",
        "The ship shudders, and the lights go out on the bridge.",
    ],
)
def test_a_look_around_begins_none(text: str) -> None:
    assert begins(text) is None


@pytest.mark.parametrize(("table", "least"), TABLES.items())
def test_the_tables_are_found_well(table: str, least: int) -> None:
    right = found = expected = quiet = passages = 0
    for line in (DATA / f"{table}.jsonl").read_text(encoding="utf-8").splitlines():
        passage = json.loads(line)
        turns = [Turn(item["name"], item["is_user"], item["mes"]) for item in passage["messages"]]
        starts = set(scene_starts(turns, min_messages=1, likely=likelihoods(turns)))
        gold = set(passage["expected"]) - {0}
        right, found, expected = right + len(starts & gold), found + len(starts), expected + len(gold)
        passages, quiet = passages + 1, quiet + (not gold)
    assert passages >= least
    assert quiet >= 0.4 * passages
    assert right / found >= 0.85
    assert right / expected >= 0.85


def test_long_chats_are_not_cut_to_pieces() -> None:
    """Of the messages of long scenes, told at length, few are taken for beginnings."""
    wrong = messages = 0
    for line in (DATA / "scenes_long.jsonl").read_text(encoding="utf-8").splitlines():
        passage = json.loads(line)
        turns = [Turn(item["name"], item["is_user"], item["mes"]) for item in passage["messages"]]
        starts = set(scene_starts(turns, likely=likelihoods(turns)))
        wrong, messages = wrong + len(starts - set(passage["expected"])), messages + len(turns)
    assert messages >= 200
    assert wrong <= 0.03 * messages


def test_what_is_likely_begins_a_scene_unless_one_just_began() -> None:
    turns = [Turn("Tom" if number % 2 else "Mira", False, "Mira shrugged.") for number in range(6)]
    likely = [0.0, 0.39, 0.4, 0.9, 0.9, 0.0]
    assert scene_starts(turns, min_messages=1) == []
    assert scene_starts(turns, min_messages=1, likely=likely) == [2, 4]
    assert scene_starts(turns, min_messages=3, likely=likely) == [3]


def test_what_narrates_nothing_is_never_likely() -> None:
    talk = [Turn("Tom", True, '"We leave tomorrow."'), Turn("Mira", False, '"Three days later? In Paris?"')]
    assert likelihoods(talk) == [0.0, 0.0]
    assert likelihoods([]) == []


@pytest.mark.parametrize("text", ["She stayed for a week.", "He walked to the door.", '"See you the next day."',
                                  "***shouts***", "**Bold** *nods*", "*nods* **Yes**"])  # fmt: skip
def test_the_original_takes_these_for_beginnings(text: str) -> None:
    assert seed_scene_starts([BEFORE[0], Turn("Mira", False, text)]) == [1]


@pytest.mark.parametrize("text", ["They arrived in Paris.", "They returned to Paris.", "She walked to her desk.",
                                  "He entered the room.", "*a* *b*", "- - -", "==="])  # fmt: skip
def test_the_original_does_not_see_these(text: str) -> None:
    assert seed_scene_starts([BEFORE[0], Turn("Mira", False, text)]) == []


WORDS = st.sampled_from(
    ["The next morning", "***", "---", '"', "*", "**", "```", "\n", "\n\n", "she woke", "to the castle", "'", "“", "”",
     "(OOC", ")", "[", "]", "Chapter 3", "Location:", "every", "would", "night fell", ",", ".", "three days later", "—"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=20).map(" ".join))
CHATS = st.lists(st.builds(Turn, st.sampled_from(["Tom", "Mira"]), st.booleans(), TEXTS), max_size=7)


@given(CHATS)
def test_any_text_is_taken(turns: list[Turn]) -> None:
    starts = scene_starts(turns, min_messages=1)
    assert starts == sorted(set(starts))
    assert all(0 < start < len(turns) for start in starts)


@settings(max_examples=30)
@given(CHATS, st.integers(0, 3))
def test_of_any_text_there_is_a_likelihood(turns: list[Turn], first: int) -> None:
    found = likelihoods(turns, first)
    assert len(found) == len(turns)
    assert all(0 <= one <= 1 for one in found)
    assert not any(found[: max(first, 1)])


@given(CHATS)
def test_line_ends_make_no_difference(turns: list[Turn]) -> None:
    windows = [Turn(turn.name, turn.is_user, turn.text.replace("\n", "\r\n")) for turn in turns]
    assert scene_starts(windows, min_messages=1) == scene_starts(turns, min_messages=1)


@given(CHATS, CHATS)
def test_what_comes_after_changes_no_beginning_but_the_last_message_s(turns: list[Turn], more: list[Turn]) -> None:
    settled = [start for start in scene_starts(turns, min_messages=1) if start < len(turns) - 1]
    longer = scene_starts([*turns, *more], min_messages=1)
    assert [start for start in longer if start < len(turns) - 1] == settled


@pytest.mark.parametrize(
    "piece", ["*", "“", "'a", "(", "the next ", "a few ", "[", "- ", "— ", "walk to ", "A'", "one "]
)
def test_a_huge_message_is_read_in_time(piece: str) -> None:
    started = time.monotonic()
    scene_starts([BEFORE[0], Turn("Mira", False, piece * (40_000 // len(piece)))], min_messages=1)
    assert time.monotonic() - started < 5


def test_weights_are_learnt_from_tables(tmp_path: Path) -> None:
    out, said = tmp_path / "weights.json", io.StringIO()
    call_command("fit_scenes", str(DATA / "scenes_held_out.jsonl"), out=out, stdout=said)
    assert "signals, learnt from 45 passages" in said.getvalue()
    assert set(read(out).names) >= {"by_rules", "cue_time", "meaning_383"}
    bad = tmp_path / "passages.jsonl"
    bad.write_text('{"messages": []}\n')
    with pytest.raises(CommandError, match="line 1"):
        call_command("fit_scenes", str(bad), out=tmp_path / "none.json")
    assert not (tmp_path / "none.json").exists()
