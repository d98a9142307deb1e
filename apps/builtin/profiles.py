"""Answer the tasks ``profiles`` and ``canon``: describe a subject by sorting memories and statements under labels."""

import re
from collections.abc import Callable, Iterable, Sequence

from apps.builtin.ledger.people import people_changes
from apps.builtin.phrases import as_sentence
from apps.builtin.salience import DEVELOPMENT, EVENT, PREFERENCE, RELATIONSHIP
from apps.builtin.scenes import setting_statements
from apps.builtin.statements import Statement, statements_of
from apps.builtin.threads import parse_thread
from apps.english.clauses import split_speaker
from apps.english.names import is_same_person, name_words
from apps.extraction.tiers.profiles import Profile, format_profile
from apps.llm.generation import GenerationRequest

MAX_PER_LABEL = 3
MAX_PAIRS = 8
MAX_PER_PARAGRAPH = 6
MIN_WORDS = 4
_FEARS = re.compile(r"\b(?:afraid|fear(?:s|ed)|scared|terrified|dreads?|nightmares?)\b", re.IGNORECASE)
_LOYALTIES = re.compile(
    r"\b(?:loyal|sw(?:orn|ore)|serve[sd]|oath|trusts?|all(?:y|ies|ied)|devoted|promise[sd])\b", re.I
)
_GOALS = re.compile(
    r"\b(?:(?:wants?|have|has|needs?|plans?|hopes?|intends?) to|must|goal|(?:look|search)ing for)\b", re.I
)
_TIMES = (
    r"(?:dawn|dusk|sunrise|sunset|noon|midday|midnight|(?:mid-?)?(?:morning|afternoon|evening|night)(?:fall)?|twilight|"
    r"spring|summer|autumn|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|"
    r"august|september|october|november|december|\w+ o['’]clock|\d{1,2}(?::\d\d)? ?[ap]\.?m)\b"
)
_BEFORE_TIME = (
    r"(?: (?:already|now|almost|nearly|still|just|only|past|after|before|about|around|getting|growing|late|early|well|"
    r"close|to|the|a|an|of|middle|\w+ly|first|\d+\w*))* "
)
_IT_IS = re.compile(
    rf"\b(?:it(?:['’]s| is)|today is|tonight is){_BEFORE_TIME}(?:\w+ )?{_TIMES}(?!['’]s| \w+ that)", re.I
)
_IT_WAS = re.compile(rf"^(?:it|that|this) (?:was|had been){_BEFORE_TIME}(?:\w+ )?{_TIMES}(?! that)", re.IGNORECASE)
_TIME_PASSES = re.compile(
    r"^(?:(?:the (?:next|following)|that|this|early|late|later|(?:late|early) (?:in|on) the|(?:on|by|at|in|just before|"
    rf"shortly after|towards?)(?: the| a)?)(?: \w+)? {_TIMES}|the next day\b|"
    r"\w+ (?:hours?|days?|nights?|weeks?|months?|years?) (?:later|had passed|passed)\b)",
    re.IGNORECASE,
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
    changes = [change for statement in statements for change in people_changes(statement) if change.name == subject]
    moods = [change.value for change in changes if change.field == "mood" and not change.removes]
    yield from _labelled_line("Goals", memories, _GOALS.search)
    yield from (f"Mood: {mood}" for mood in moods[-1:])
    yield from _labelled_line("Fears", memories, _FEARS.search)
    yield from _labelled_line("Loyalties", memories, _LOYALTIES.search)
    yield from _labelled_line("Tastes", memories, PREFERENCE.search)


def _world_lines(memories: Sequence[str], statements: Sequence[Statement]) -> Iterable[str]:
    asserted = [item for item in statements if not item.is_question and len(item.sentence.words) >= MIN_WORDS]
    timed = [item.quoted for item in asserted if _tells_time(item)]
    yield from _labelled_line("Location", [item.quoted for item in setting_statements(statements)], bool)
    yield from _labelled_line("Unresolved", memories, parse_thread)
    yield from _labelled_line("Time", timed[-1:], bool)


def _tells_time(statement: Statement) -> bool:
    """Return whether a sentence says when the story plays now, not when something happened or will."""
    patterns = (_IT_IS, _IT_WAS, _TIME_PASSES) if statement.narrated else (_IT_IS,)
    return any(pattern.search(statement.text) for pattern in patterns)


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
