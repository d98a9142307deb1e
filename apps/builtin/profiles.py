"""Tasks ``profiles`` and ``canon``: the memories' own sentences, sorted."""

import re
from collections.abc import Callable, Iterable, Sequence

from apps.builtin.ledger_people import people_changes
from apps.builtin.phrases import as_sentence
from apps.builtin.salience import DATE, DEVELOPMENT, EVENT, PREFERENCE, RELATIONSHIP
from apps.builtin.scenes import setting_of
from apps.builtin.statements import Statement, statements_of
from apps.builtin.threads import thread_of
from apps.english.clauses import split_speaker
from apps.extraction.parsers.profiles import Profile, print_profile
from apps.llm.generation import GenerationRequest

MOST_OF_A_LABEL = 3
MOST_PAIRS = 8
MOST_OF_A_PARAGRAPH = 6
LEAST_WORDS = 4
_FEARS = re.compile(r"\b(?:afraid|fear(?:s|ed)|scared|terrified|dreads?|nightmares?)\b", re.IGNORECASE)
_LOYALTIES = re.compile(
    r"\b(?:loyal|sw(?:orn|ore)|serve[sd]|oath|trusts?|all(?:y|ies|ied)|devoted|promise[sd])\b", re.I
)
_GOALS = re.compile(
    r"\b(?:(?:wants?|have|has|needs?|plans?|hopes?|intends?) to|must|goal|(?:look|search)ing for)\b", re.I
)


def profiles(request: GenerationRequest) -> str:
    """Print how the subject is, how the world around them is, and a line for each other whom a memory names too."""
    subject, memories = request.material["subject"], list(dict.fromkeys(request.material["memories"]))
    statements = statements_of(request.material)
    own = [text for text in memories if _names(text, subject)]
    profile = Profile(
        "\n".join(_character(subject, own, statements)),
        "\n".join(_world(memories, statements)),
        "\n".join(_relationships(subject, request.material.get("names", ()), own)),
    )
    return print_profile(profile) or "NONE"


def _names(text: str, name: str) -> bool:
    """Return whether a text names somebody, by the whole name or its first word."""
    words = name.split()
    either = f"{re.escape(name)}|{re.escape(words[0])}" if words else ""
    return bool(either and re.search(rf"(?<!\w)(?:{either})(?!\w)", text, re.IGNORECASE))


def _character(subject: str, own: Sequence[str], statements: Sequence[Statement]) -> Iterable[str]:
    changes = [change for one in statements for change in people_changes(one) if change.name == subject]
    moods = [change.value for change in changes if change.field == "mood" and not change.ends]
    yield from _labelled("Goals", own, _GOALS.search)
    yield from (f"Mood: {mood}" for mood in moods[-1:])
    yield from _labelled("Fears", own, _FEARS.search)
    yield from _labelled("Loyalties", own, _LOYALTIES.search)
    yield from _labelled("Tastes", own, PREFERENCE.search)


def _world(memories: Sequence[str], statements: Sequence[Statement]) -> Iterable[str]:
    dated = [
        one.quoted
        for one in statements
        if not one.asks and len(one.sentence.words) >= LEAST_WORDS and DATE.search(one.text)
    ]
    yield from _labelled("Location", [one.quoted for one in setting_of(statements)], bool)
    yield from _labelled("Unresolved", memories, thread_of)
    yield from _labelled("Time", dated[-1:], bool)


def _labelled(label: str, texts: Iterable[str], fits: Callable[[str], object]) -> Iterable[str]:
    found = [as_sentence(text) for text in texts if fits(split_speaker(text)[1])][:MOST_OF_A_LABEL]
    if found:
        yield f"{label}: {' '.join(found)}"


def _relationships(subject: str, names: Iterable[str], own: Sequence[str]) -> Iterable[str]:
    """Yield a line for each other: the first memory that tells how both stand to each other, else one naming both."""
    for name in list(dict.fromkeys(name for name in names if name != subject))[:MOST_PAIRS]:
        both = [text for text in own if _names(text, name)]
        chosen = next((text for text in both if RELATIONSHIP.search(text)), both[0] if both else "")
        if chosen:
            yield f"{subject} -> {name}: {as_sentence(chosen)}"


def canon(request: GenerationRequest) -> str:
    """Print three paragraphs: who somebody is, what happened, and where things stand."""
    memories = list(dict.fromkeys(request.material["memories"]))
    said = {text: split_speaker(text)[1] for text in memories}
    happened = [text for text in memories if EVENT.search(said[text])]
    about = [text for text in memories if text not in happened and _names(text, request.material["subject"])]
    others = [text for text in memories if text not in happened and text not in about]
    stands = [text for text in memories if DEVELOPMENT.search(said[text]) or thread_of(text)]
    paragraphs = [
        ("Who", [*about, *others][:MOST_OF_A_PARAGRAPH]),
        ("What happened", [*dict.fromkeys(request.material["arcs"]), *happened][:MOST_OF_A_PARAGRAPH]),
        ("Where things stand", stands[:MOST_OF_A_LABEL]),
    ]
    told = (f"{label}: {' '.join(map(as_sentence, texts))}" for label, texts in paragraphs if texts)
    return "\n\n".join(told) or "NONE"
