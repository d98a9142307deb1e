"""Answer the tasks ``profiles`` and ``canon``: describe a subject by sorting memories and statements under labels."""

import re
from collections.abc import Callable, Iterable, Sequence

from apps.builtin.reading.phrases import as_sentence
from apps.builtin.reading.statements import Statement, statements_of
from apps.builtin.story.character_states import character_changes
from apps.builtin.story.setting import setting_statements, tells_time
from apps.builtin.story.threads import parse_thread
from apps.builtin.worth.salience import DEVELOPMENT, EVENT, PREFERENCE, RELATIONSHIP
from apps.english.clauses import split_speaker
from apps.english.names import is_same_person, name_words
from apps.extraction.tiers.profiles import Profile, format_profile
from apps.llm.generation import GenerationRequest

MAX_PER_LABEL = 3
MAX_PAIRS = 8
MAX_PER_PARAGRAPH = 6
_FEARS = re.compile(r"\b(?:afraid|fear(?:s|ed)|scared|terrified|dreads?|nightmares?)\b", re.IGNORECASE)
_LOYALTIES = re.compile(
    r"\b(?:loyal|sw(?:orn|ore)|serve[sd]|oath|trusts?|all(?:y|ies|ied)|devoted|promise[sd])\b", re.I
)
_GOALS = re.compile(
    r"\b(?:(?:wants?|have|has|needs?|plans?|hopes?|intends?) to|must|goal|(?:look|search)ing for)\b", re.I
)


def profiles(request: GenerationRequest) -> str:
    """Return lines on the subject's state and the world's state, and a line for each person named with the subject."""
    subject, memories = request.material["subject"], list(dict.fromkeys(request.material["memories"]))
    statements = statements_of(request.material)
    subject_memories = [text for text in memories if _mentions(text, subject)]
    profile = Profile(
        "\n".join(_character_lines(subject, subject_memories, statements)),
        "\n".join(_world_lines(memories, statements)),
        "\n".join(_relationship_lines(subject, request.material.get("names", ()), subject_memories)),
    )
    return format_profile(profile) or "NONE"


def _mentions(text: str, name: str) -> bool:
    """Return whether a text contains a name, whole or by its first word without titles."""
    words = name_words(name)
    pattern = f"{re.escape(name)}|{re.escape(words[0])}" if words else ""
    return bool(pattern and re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE))


def _character_lines(subject: str, memories: Sequence[str], statements: Sequence[Statement]) -> Iterable[str]:
    changes = [change for statement in statements for change in character_changes(statement) if change.name == subject]
    moods = [change.value for change in changes if change.field == "mood" and not change.removes]
    yield from _labelled_line("Goals", memories, _GOALS.search)
    yield from (f"Mood: {mood}" for mood in moods[-1:])
    yield from _labelled_line("Fears", memories, _FEARS.search)
    yield from _labelled_line("Loyalties", memories, _LOYALTIES.search)
    yield from _labelled_line("Tastes", memories, PREFERENCE.search)


def _world_lines(memories: Sequence[str], statements: Sequence[Statement]) -> Iterable[str]:
    asserted = [item for item in statements if not item.is_question and not item.is_brief]
    timed = [item.quoted for item in asserted if tells_time(item)]
    yield from _labelled_line("Location", [item.quoted for item in setting_statements(statements)], bool)
    yield from _labelled_line("Unresolved", memories, parse_thread)
    yield from _labelled_line("Time", timed[-1:], bool)


def _labelled_line(label: str, texts: Iterable[str], accepts: Callable[[str], object]) -> Iterable[str]:
    """Yield a line of the first MAX_PER_LABEL texts that ``accepts`` returns true for; yield nothing without any."""
    sentences = [as_sentence(text) for text in texts if accepts(split_speaker(text)[1])][:MAX_PER_LABEL]
    if sentences:
        yield f"{label}: {' '.join(sentences)}"


def _relationship_lines(subject: str, names: Iterable[str], memories: Sequence[str]) -> Iterable[str]:
    """Yield a line for each other person: the first memory of their relationship, else the first that names both."""
    for name in list(dict.fromkeys(name for name in names if not is_same_person(name, subject)))[:MAX_PAIRS]:
        both = [text for text in memories if _mentions(text, name)]
        chosen = next((text for text in both if RELATIONSHIP.search(text)), both[0] if both else "")
        if chosen:
            yield f"{subject} -> {name}: {as_sentence(chosen)}"


def canon(request: GenerationRequest) -> str:
    """Return up to three paragraphs on the subject: who they are, past events, and the current situation."""
    memories = list(dict.fromkeys(request.material["memories"]))
    contents = {text: split_speaker(text)[1] for text in memories}
    events = [text for text in memories if EVENT.search(contents[text])]
    about = [text for text in memories if text not in events and _mentions(text, request.material["subject"])]
    others = [text for text in memories if text not in events and text not in about]
    current = [text for text in memories if DEVELOPMENT.search(contents[text]) or parse_thread(text)]
    paragraphs = [
        ("Who", [*about, *others][:MAX_PER_PARAGRAPH]),
        ("What happened", [*dict.fromkeys(request.material["arcs"]), *events][:MAX_PER_PARAGRAPH]),
        ("Where things stand", current[:MAX_PER_LABEL]),
    ]
    lines = (f"{label}: {' '.join(map(as_sentence, texts))}" for label, texts in paragraphs if texts)
    return "\n\n".join(lines) or "NONE"
