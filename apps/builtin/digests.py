"""The tasks ``profiles`` and ``canon``: the memories' own sentences, put in order."""

import re
from collections.abc import Callable, Iterable, Sequence
from re import Pattern

from apps.builtin.ledger_people import people_changes
from apps.builtin.phrases import as_sentence
from apps.builtin.salience import DEVELOPMENT, EVENT, PREFERENCE, RELATIONSHIP
from apps.builtin.setting import setting
from apps.builtin.statements import Statement, statements_of
from apps.builtin.threads import thread_of
from apps.extraction.parsers.profiles import Profile, print_profile
from apps.llm.generation import GenerationRequest
from apps.memories.wording import split_speaker

MOST_OF_A_LABEL = 3
MOST_PAIRS = 8
MOST_OF_A_PARAGRAPH = 6
_FEARS = re.compile(r"\b(?:afraid|fears?|feared|scared|terrified|dreads?|nightmares?)\b", re.IGNORECASE)
_LOYALTIES = re.compile(
    r"\b(?:loyal|sworn|swore|serves?|served|oath|trusts?|ally|allies|allied|devoted|promised?|protects?)\b",
    re.IGNORECASE,
)
_GOALS = re.compile(
    r"\b(?:wants?|wanted|must|have to|has to|need(?:s|ed)? to|plans?|planning|hopes?|dreams?|goal|determined|intends?|"
    r"looking for|searching for)\b",
    re.IGNORECASE,
)
_THREATS = re.compile(
    r"\b(?:danger|threat\w*|enem(?:y|ies)|hunted|hunting|attack\w*|war|siege|curse\w*|bounty|storm|fire|plague|"
    r"traitor)\b",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"\b(?:today|tonight|tomorrow|monday|tuesday|wednesday|thursday|friday|saturday|sunday|morning|evening|night|dawn|"
    r"dusk|noon|midnight|winter|spring|summer|autumn|january|february|march|april|june|july|august|september|october|"
    r"november|december)\b",
    re.IGNORECASE,
)


def profiles(request: GenerationRequest) -> str:
    """How the subject is, how the world around them is, and a line for each whom a memory names beside them."""
    material = request.material
    subject, memories = material["subject"], list(dict.fromkeys(material["memories"]))
    statements = statements_of(material)
    own = [text for text in memories if _names(text, subject)]
    profile = Profile(
        "\n".join(_character(subject, own, statements)),
        "\n".join(_world(memories, statements)),
        "\n".join(_relationships(subject, material.get("names", ()), own)),
    )
    return print_profile(profile) or "NONE"


def _names(text: str, name: str) -> bool:
    """Whether a text names somebody, by the whole name or its first word."""
    words = name.split()
    return bool(words) and bool(
        re.search(rf"(?<!\w)(?:{re.escape(name)}|{re.escape(words[0])})(?!\w)", text, re.IGNORECASE)
    )


def _character(subject: str, own: Sequence[str], statements: Sequence[Statement]) -> Iterable[str]:
    changes = [change for one in statements for change in people_changes(one) if change.name == subject]
    moods = [change.value for change in changes if change.field == "mood" and not change.ends]
    yield from _labelled("Goals", own, _GOALS.search)
    yield from (f"Mood: {mood}" for mood in moods[-1:])
    yield from _labelled("Fears", own, _FEARS.search)
    yield from _labelled("Loyalties", own, _LOYALTIES.search)
    yield from _labelled("Tastes", own, PREFERENCE.search)


def _world(memories: Sequence[str], statements: Sequence[Statement]) -> Iterable[str]:
    said = [statement.quoted for statement in statements if not statement.asks and len(statement.sentence.words) > 3]
    yield from _labelled("Location", [one.quoted for one in setting(statements)], bool)
    yield from _labelled("Threats", memories, _THREATS.search)
    yield from _labelled("Unresolved", memories, thread_of)
    yield from _labelled("Time", [text for text in said if _TIMES.search(text)][-1:], _TIMES.search)


def _labelled(label: str, texts: Iterable[str], fits: Callable[[str], object]) -> Iterable[str]:
    found = [as_sentence(text) for text in texts if fits(split_speaker(text)[1])][:MOST_OF_A_LABEL]
    if found:
        yield f"{label}: {' '.join(found)}"


def _relationships(subject: str, names: Iterable[str], own: Sequence[str]) -> Iterable[str]:
    """A line for each of ``names``: the first memory that tells how both stand to each other, else one naming both."""
    for name in list(dict.fromkeys(name for name in names if name != subject))[:MOST_PAIRS]:
        both = [text for text in own if _names(text, name)]
        chosen = next((text for text in both if RELATIONSHIP.search(text)), both[0] if both else "")
        if chosen:
            yield f"{subject} -> {name}: {as_sentence(chosen)}"


def canon(request: GenerationRequest) -> str:
    """Three paragraphs: who somebody is, what happened, and where things stand."""
    material = request.material
    memories = list(dict.fromkeys(material["memories"]))
    arcs = list(dict.fromkeys(material["arcs"]))
    happened = [text for text in memories if _is_of(text, EVENT)]
    about = [text for text in memories if text not in happened and _names(text, material["subject"])]
    others = [text for text in memories if text not in happened and text not in about]
    paragraphs = [
        ("Who", [*about, *others][:MOST_OF_A_PARAGRAPH]),
        ("What happened", [*arcs, *happened][:MOST_OF_A_PARAGRAPH]),
        (
            "Where things stand",
            [text for text in memories if _is_of(text, DEVELOPMENT) or thread_of(text)][:MOST_OF_A_LABEL],
        ),
    ]
    told = (f"{label}: {' '.join(map(as_sentence, texts))}" for label, texts in paragraphs if texts)
    return "\n\n".join(told) or "NONE"


def _is_of(text: str, kind: Pattern[str]) -> bool:
    return bool(kind.search(split_speaker(text)[1]))
