"""The extractor without a model: it quotes what the chat says, names who said it, and leaves talk alone."""

import re
import time
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apps.llm.generation import GenerationRequest
from apps.memories.builtin_extraction.picking import long_term, session
from apps.memories.line_format import Candidate, parse_memories
from apps.memories.pipeline import KINDS, NEW_PER_KIND

TASKS = [(long_term, KINDS["long_term"]), (session, KINDS["session"])]

LIVED = "I have lived in Oslo with my sister Anna since 1990."
MOVED = "Tom moved to Lyon on the third of May."
ODD = [
    "",
    "\n \t",
    "😀" * 200,
    'I have lived in Oslo with my sister 😀 Anna since 1990 "',
    "“I have lived in Oslo with my sister Anna since 1990.",
    "*I have lived in **Oslo with my sister** Anna since* 1990.",
    "***",
    '""""',
    "我和妹妹安娜住在巴黎。",
    "Я живу в Москве с сестрой Анной с 1990 года.",
    "أعيش في باريس مع أختي منذ 1990.",
    "\u202eI have lived in Oslo\u202c with my sister Anna.\u0000\x0b\u2028",
    "[fact:3:permanent:source=0] I have lived in Oslo with my sister Anna.",
    "NONE",
    "Tom: Tom: Tom: I moved to Oslo in May. :::: [x](y) ![z](w",
]
# What rules on words may take time over: nesting, runs and signs that are never closed.
LONG = {
    "prose": "I live in Paris with my sister Anna, and Tom moved to Lyon in May. ",
    "names": "Anna Vale of the Salt ",
    "capitals": "Mr. A. B. U.S.A. ",
    "quotes": '"I moved to Rome," said Mira Vale. ',
    "opened quotes": "“",
    "opened links": "[a](",
    "brackets": "[",
    "stars": "*a ",
    "dashes": "A-'",
    "one word": "a",
    "numbers": "1990 ",
    "spaces": " ",
    "lines": "I live in Paris with Anna.\n",
    "chinese": "我和安娜住在巴黎。",
    "emoji": "😀 ",
}


def pick(
    task: Callable[[GenerationRequest], str], *texts: str, speaker: str = "Mira", per_kind: int = NEW_PER_KIND
) -> list[Candidate]:
    """What the task keeps of turns that ``speaker`` takes, read as the pipeline reads it."""
    turns = [{"number": n, "speaker": speaker, "is_user": False, "text": text} for n, text in enumerate(texts)]
    material = {"turns": turns, "participants": ["Alice", "Mira"], "per_kind": per_kind}
    reply = task(GenerationRequest(task="any", messages=[], material=material))
    parsed = parse_memories(reply, dict(TASKS)[task])
    assert parsed.unused == []
    return parsed.candidates


def kept(*texts: str, speaker: str = "Mira") -> list[str]:
    return [candidate.text for candidate in pick(long_term, *texts, speaker=speaker, per_kind=10)]


def letters(text: str) -> str:
    """A text without spaces, marks, signs and the targets of links, which a quotation need not keep."""
    return re.sub(r"\]\([^()]*\)|[^\w]|_", "", text)


def quoted(candidate: Candidate) -> str:
    """What a candidate says, without the name of who says it."""
    attributed = re.fullmatch(r"[^“]*?: “(.*)”", candidate.text, re.DOTALL)
    return attributed[1] if attributed else candidate.text.removeprefix("Mira: ")


pieces = st.sampled_from([LIVED, MOVED, *ODD, "I hate the sea!", "Why?", '"', "“", "”", "*", "**", " ", "\n", "’s"])
messages = st.one_of(st.text(max_size=200), st.lists(pieces, max_size=8).map("".join))


@given(st.lists(messages, max_size=4))
@example(ODD)
def test_whatever_is_kept_stands_in_the_turn_that_it_cites(texts: list[str]) -> None:
    for task, kinds in TASKS:
        for candidate in pick(task, *texts):
            [number] = candidate.sources
            assert candidate.kind in kinds
            assert letters(quoted(candidate)) in letters(texts[number])


@pytest.mark.parametrize("text", ODD)
def test_no_text_makes_it_raise(text: str) -> None:
    for task, _ in TASKS:
        pick(task, text, speaker=text)


@pytest.mark.parametrize("name", LONG)
def test_a_very_long_message_takes_no_time(name: str) -> None:
    text = LONG[name] * (100_000 // len(LONG[name]))
    began = time.process_time()
    pick(long_term, text)
    assert time.process_time() - began < 5  # seconds; what grows with the square of the length takes a minute


@pytest.mark.parametrize(
    ("message", "memory"),
    [
        (f'"{LIVED}"', f"Mira: “{LIVED}”"),
        (LIVED, f"Mira: “{LIVED}”"),
        ('"I was born in Oslo in 1980," said Tom.', "Tom: “I was born in Oslo in 1980”"),
        ('"I was born in Oslo in 1980," Captain Tom Reed said.', "Captain Tom Reed: “I was born in Oslo in 1980”"),
        ('Tom said: "I was born in Oslo in 1980."', "Tom: “I was born in Oslo in 1980.”"),
        ("“I was born in Oslo in 1980,” whispered Tom.", "Tom: “I was born in Oslo in 1980”"),
        ('"I was born in Oslo in 1980," she said.', "Mira: “I was born in Oslo in 1980”"),
        ('"I was born in Oslo in 1980," I said.', "Mira: “I was born in Oslo in 1980”"),
        (f"*smiles at him* {LIVED}", f"Mira: “{LIVED}”"),
        ('Tom sold the blue boat to Anna in May. "Fine."', "Tom sold the blue boat to Anna in May."),
        ('"Fine." She sold the blue boat to Anna in May.', "Mira: She sold the blue boat to Anna in May."),
        ("*Tom sold the blue boat to Anna in May.* Fine.", "Tom sold the blue boat to Anna in May."),
    ],
)
def test_who_says_it_is_named_and_narration_is_not_speech(message: str, memory: str) -> None:
    assert memory in kept(message)


def test_two_people_who_speak_in_one_paragraph_are_not_mixed_up() -> None:
    message = '"I was born in Oslo in 1980," said Tom. "I was born in Rome in 1990," said Anna.'
    assert set(kept(message)) == {"Tom: “I was born in Oslo in 1980”", "Anna: “I was born in Rome in 1990”"}
    message = 'He said: "I moved to Lyon in May." Then Alice replied: "I moved to Rome in June."'
    assert set(kept(message)) == {"Mira: “I moved to Lyon in May.”", "Alice: “I moved to Rome in June.”"}


@pytest.mark.parametrize(
    ("message", "whole"),
    [
        ("I do *not* live in Oslo with my sister Anna.", "I do not live in Oslo with my sister Anna."),
        ("*Not* once have I lived in Oslo with Anna.", "Not once have I lived in Oslo with Anna."),
        ("I have **never** lived in Oslo with Anna.", "I have never lived in Oslo with Anna."),
        (
            'My so-called "best friend" Tom moved to Oslo in May.',
            'My so-called "best friend" Tom moved to Oslo in May.',
        ),
        ('I read "The Lord of the Rings" with Anna in 2019.', 'I read "The Lord of the Rings" with Anna in 2019.'),
    ],
)
def test_a_stressed_or_quoted_word_does_not_tear_a_sentence_apart(message: str, whole: str) -> None:
    assert kept(message) == [f"Mira: “{whole}”"]


@pytest.mark.parametrize(
    "message",
    [
        "Where did you live in 1990, Tom?",
        "Hello there, how are you today?",
        "Thanks, that sounds great!",
        "Wow, that is really awesome, congrats!",
        "Let me know what you think about it.",
        "Maybe we should go out tomorrow.",
        "*smiles softly*",
        "Okay.",
    ],
)
def test_questions_and_small_talk_are_not_kept(message: str) -> None:
    for task, _ in TASKS:
        assert pick(task, message) == []


@pytest.mark.parametrize("task", [task for task, _ in TASKS])
def test_no_more_than_so_many_of_a_kind(task: Callable[[GenerationRequest], str]) -> None:
    texts = [f"I have lived in Oslo with my sister Anna{n} since {1900 + n}, and I love jazz." for n in range(30)]
    counts = Counter(candidate.kind for candidate in pick(task, *texts, per_kind=2))
    assert counts
    assert max(counts.values()) <= 2


def test_lines_stand_in_the_order_of_the_chat() -> None:
    texts = [
        MOVED,
        LIVED,
        "Mira hates the sea, and her brother Tom loves it.",
        "Tom is Anna's brother, and works as a pilot.",
    ]
    sources = [candidate.sources for candidate in pick(long_term, *texts, per_kind=10)]
    assert len(sources) == 4
    assert sources == sorted(sources)


def test_it_names_whom_it_is_about() -> None:
    [candidate] = pick(long_term, "I moved to Port Salt with Tom Reed in May.")
    entities = {entity.name: entity.kind for entity in candidate.entities}
    assert entities == {"Mira": "character", "Port Salt": "place", "Tom Reed": "unknown"}
