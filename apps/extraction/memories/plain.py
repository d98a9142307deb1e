"""Ask a small model plain questions about a few messages at a time, and turn its sentences into memories.

The model is asked for sentences alone. Code assigns their kind, importance and source; entities and trigger words come
from the texts, as they do where no model names any. What it seems to have overlooked is asked for once more.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from django.utils.translation import gettext_lazy as _

from apps.chats.models import Message
from apps.english.requests import requests_in
from apps.extraction.memories.lines import format_memory
from apps.extraction.memories.plain_notes import EXAMPLE, NOTES, Said, is_enough, parse_plain
from apps.extraction.models import DOUBTED
from apps.extraction.prompts import examples
from apps.extraction.prompts.task import Task
from apps.extraction.settings.plans import MAX_MESSAGES, MAX_TOKENS
from apps.extraction.steps.asking import takes_any
from apps.extraction.steps.context import Context, turns_material
from apps.extraction.steps.turns import find_source_turn
from apps.llm.generation import GenerationBackend
from apps.llm.tokens import count_tokens
from apps.memories.candidates import DEFAULT_IMPORTANCE, Candidate
from apps.text.words import word_count

REPETITION_PENALTY = 1.05
MIN_ASKED, MIN_SUBSTANCE = 3, 6  # words of a message that is asked about, and of one that surely tells something
DOUBTED_BY_SMALL, DOUBTED_BY_LARGE = 8, 20  # messages of substance of which "nothing" is doubted
CENTRAL = 3  # the importance of what somebody asks to remember, and of what endangers them

_PREFERENCE = re.compile(
    r"\b(?:like|love|hate|prefer|enjoy|adore|dislike|favou?rite|can['’]t stand|mag|liebt|hasst|Lieblings\w+)(?:s|d)?\b"
)
_TIE = re.compile(
    r"\b(?:friends?|married|divorced|engaged|siblings?|trusts?|distrusts?|owes?|in love|couple|enem(?:y|ies)|"
    r"befreundet|verheiratet|geschieden|verlobt|vertraut)\b"
)
_EVENT = re.compile(
    r"\b(?:will|plans?|promised|moved|went|bought|sold|died|lost|found|met|started|quit|booked|got|gave|told|broke|"
    r"was (?:born|hired|fired)|wird|plant|versprach|zog|kaufte|starb|gebucht|hat \w+ ge\w+t)\b"
)
_KINDS = (("preference", _PREFERENCE), ("relationship", _TIE), ("event", _EVENT))
_DANGER = re.compile(
    r"\b(?:allerg\w*|diabet\w*|epilep\w*|pregnan\w*|schwanger\w*|cancer|Krebs|penicillin\w*)\b", re.IGNORECASE
)


def read(context: Context, model: GenerationBackend, turns: Mapping[int, Message]) -> str:
    """Return what a small model tells of the turns, as the lines of lasting memories. Raise GenerationFailed.

    Return "" if it finds nothing in many messages: the built-in reader has to read them.
    """
    lines = [line for part in parts_of(turns) for line in _ask(context, model, "plain", part)]
    if not lines and substance_of(turns) >= DOUBTED_BY_SMALL:
        return second_opinion(context, model, turns)
    return "\n".join(lines) or "NONE"


def second_opinion(context: Context, model: GenerationBackend, turns: Mapping[int, Message]) -> str:
    """Ask in the simplest form about the longest part of the turns, in which a model found nothing.

    If it finds nothing again, return "" and count the turns as those that the built-in reader has to read.
    """
    longest = max(parts_of(turns), key=lambda part: sum(len(turn.mes) for turn in part.values()))
    lines = _ask(context, model, "plainest", longest)
    if not lines:
        context.notes.counts[DOUBTED] += len(turns)
    return "\n".join(lines)


def is_doubtful(reply: str, turns: Mapping[int, Message]) -> bool:
    """Return whether a large model's reply, that there is nothing to note, is hard to believe."""
    return "[" not in reply and "{" not in reply and substance_of(turns) >= DOUBTED_BY_LARGE


def substance_of(turns: Mapping[int, Message]) -> int:
    """Return how many of the turns are long enough to tell something."""
    return sum(word_count(turn.mes) >= MIN_SUBSTANCE for turn in turns.values())


def parts_of(turns: Mapping[int, Message]) -> Iterator[dict[int, Message]]:
    """Yield parts of the turns, each of one speaker, since small models mix up who says what.

    A part has at most MAX_MESSAGES that stand near each other, and about MAX_TOKENS; none of a word or two.
    """
    parts: dict[str, dict[int, Message]] = {}
    for number, turn in turns.items():
        if word_count(turn.mes) < MIN_ASKED:
            continue
        part = parts.get(turn.name, {})
        if part and (len(part) == MAX_MESSAGES or _tokens(part.values()) + _tokens([turn]) > MAX_TOKENS):
            yield parts.pop(turn.name)
        parts.setdefault(turn.name, {})[number] = turn
    yield from parts.values()


def _tokens(turns: Iterable[Message]) -> int:
    return sum(count_tokens(turn.mes) for turn in turns)


def _ask(context: Context, model: GenerationBackend, task: str, part: Mapping[int, Message]) -> list[str]:
    """Return the usable notes of a reply about what somebody said as lines, and keep the others as unused."""
    material = turns_material(part)
    said = Said([(turn["speaker"], turn["text"]) for turn in material], context.chat.user_name)
    subject = material[0]["speaker"]
    answer = context.ask.answer(
        task,
        {"turns": material, "subject": subject, "names": [name for name in context.participants if name != subject]},
        backend=model,
        sampling={"repetition_penalty": REPETITION_PENALTY, "is_enough": partial(is_enough, said=said)},
    )
    parsed = parse_plain(answer.text, said)
    context.notes.unused += parsed.unused
    return [_line(text, part) for text in parsed.items]


def _line(text: str, part: Mapping[int, Message]) -> str:
    source = find_source_turn(text, {number: turn.mes for number, turn in part.items()})
    said = part[source].mes if source is not None else ""
    importance = CENTRAL if requests_in(said) or _DANGER.search(text) else DEFAULT_IMPORTANCE
    sources = (source,) if source is not None else ()
    return format_memory(Candidate(kind=kind_of(text), text=text, importance=importance, sources=sources))


def kind_of(text: str) -> str:
    """Return the kind of a lasting memory, by its words."""
    return next((kind for kind, words in _KINDS if words.search(text)), "fact")


_plain_task = partial(
    Task,
    required=("transcript", "subject"),
    optional=("names",),
    max_tokens=300,
    is_usable=takes_any,
    example={"turns": examples.TURNS[1::2], "names": examples.NAMES[:1]},
    is_plain=True,
)
TASKS = (
    _plain_task(
        "plain",
        _("What somebody tells in a few messages, in plain sentences: for small models."),
        shown=(EXAMPLE, NOTES),
    ),
    _plain_task("plainest", _("The same in the simplest words: when a model found nothing in many messages.")),
)
