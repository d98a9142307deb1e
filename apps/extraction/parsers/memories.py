"""Parse and format memories, one per line. Without database access.

``[kind:importance:expiration:source=3,4:entity=Mira/character,Port Salt/place:for=Mira:triggers=salt] text``
"""

from collections.abc import Iterable, Sequence

from apps.extraction.parsers.records import ParsedLines, normalize_word, parse_lines, parse_numbers
from apps.extraction.parsers.text_cleanup import clean_line, tag_safe_name
from apps.extraction.parsers.triggers import MAX_WORDS
from apps.memories.candidates import DEFAULT_IMPORTANCE, ENTITY_KINDS, UNKNOWN_KIND, Candidate, NamedEntity
from apps.memories.trigger_words import trigger_words

EXPIRATIONS = ("scene", "session", "permanent")
MAX_ENTITIES = 8
MAX_SOURCES = 50


def parse_memories(reply: str, kinds: Sequence[str], *, expiration: str = "permanent") -> ParsedLines[Candidate]:
    """Parse memories of one of ``kinds``; ``expiration`` is used for lines without one. Never raise.

    A line without a tag continues the memory before it. If no line can be parsed, JSON objects with a kind and a text
    are parsed instead.
    """
    return parse_lines(reply, lambda record: _candidate(record.tag, record.text, kinds, expiration))


def _candidate(tag: str | None, text: str, kinds: Sequence[str], expiration: str) -> Candidate | None:
    kind, *modifiers = (part.strip() for part in (tag or "").split(":"))
    name = _kind(kind, kinds)
    text = clean_line(text)
    if name is None or not text:
        return None
    return Candidate(
        kind=name,
        text=text,
        importance=next((int(word) for word in modifiers if word in ("1", "2", "3")), DEFAULT_IMPORTANCE),
        expiration=next((word for word in map(normalize_word, modifiers) if word in EXPIRATIONS), expiration),
        sources=parse_numbers(_value_of(modifiers, "source", "sources"))[:MAX_SOURCES],
        entities=_entities(modifiers),
        known_to=tuple(filter(None, map(tag_safe_name, _value_of(modifiers, "for").split(","))))[:MAX_ENTITIES],
        triggers=tuple(trigger_words(_value_of(modifiers, "triggers", "trigger")))[:MAX_WORDS],
    )


def _kind(word: str, kinds: Sequence[str]) -> str | None:
    """Return the kind that a word names, in any case, in singular or plural."""
    word = normalize_word(word)
    return next((kind for kind in kinds if word in (kind, f"{kind}s")), None)


def _value_of(modifiers: Iterable[str], *names: str) -> str:
    pairs = (word.partition("=") for word in modifiers)
    return next((value for key, _, value in pairs if normalize_word(key) in names), "")


def _entities(modifiers: Iterable[str]) -> tuple[NamedEntity, ...]:
    entities: dict[str, NamedEntity] = {}
    for item in _value_of(modifiers, "entity", "entities").split(","):
        name, _, kind = item.partition("/")
        name, kind = tag_safe_name(name), normalize_word(kind)
        if name:
            entities.setdefault(name.casefold(), NamedEntity(name, kind if kind in ENTITY_KINDS else UNKNOWN_KIND))
    return tuple(entities.values())[:MAX_ENTITIES]


def format_memory(candidate: Candidate) -> str:
    """Return ``candidate`` formatted so that ``parse_memories`` reads it back."""
    tag = [candidate.kind, str(candidate.importance), candidate.expiration]
    if candidate.sources:
        tag.append("source=" + ",".join(map(str, candidate.sources)))
    if candidate.entities:
        tag.append("entity=" + ",".join(f"{tag_safe_name(entity.name)}/{entity.kind}" for entity in candidate.entities))
    if candidate.known_to:
        tag.append("for=" + ",".join(map(tag_safe_name, candidate.known_to)))
    if candidate.triggers:
        tag.append("triggers=" + ",".join(candidate.triggers))
    return f"[{':'.join(tag)}] {clean_line(candidate.text)}"
