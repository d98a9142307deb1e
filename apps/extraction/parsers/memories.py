"""The lines in which memories come from a model, read and printed. Pure.

``[kind:importance:expiration:source=3,4:entity=Mira/character,Port Salt/place] text``, one memory a line. Models
bullet, number, embolden, indent, fence and wrap what they write; all of that reads the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.extraction.parsers.json_objects import objects_in
from apps.extraction.parsers.plain import inside_tag, sentence
from apps.extraction.parsers.records import numbers_in, read, reported, word_of
from apps.memories.candidates import ENTITY_KINDS, IMPORTANCE, UNKNOWN, Candidate, NamedEntity

EXPIRATIONS = ("scene", "session", "permanent")
MAX_ENTITIES = 8
MAX_SOURCES = 50


@dataclass(frozen=True)
class Parsed:
    """What a reply held. ``unused`` are its lines that could not be read as anything."""

    candidates: list[Candidate] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


def parse_memories(reply: str, kinds: Sequence[str], *, expiration: str = "permanent") -> Parsed:
    """Read a reply's lines as memories of one of ``kinds``; ``expiration`` holds where a line names none.

    Never raises. A line without a tag continues the memory before it. Objects in JSON that have a kind and a text are
    taken where there are no lines.
    """
    reading = read(reply, lambda record: _candidate(record.tag, record.text, kinds, expiration))
    if reading.items or "{" not in reply:
        return Parsed(reading.items, reading.unused)
    written = [(item, _candidate(*_tagged(item), kinds, expiration)) for item in objects_in(reply)]
    candidates = [candidate for _, candidate in written if candidate]
    if not candidates:
        return Parsed([], reading.unused)
    return Parsed(candidates, reported([str(item) for item, candidate in written if not candidate], 0, reply))


def _candidate(tag: str | None, text: str, kinds: Sequence[str], expiration: str) -> Candidate | None:
    kind, *modifiers = (part.strip() for part in (tag or "").split(":"))
    name = _kind(kind, kinds)
    text = sentence(text)
    if name is None or not text:
        return None
    return Candidate(
        kind=name,
        text=text,
        importance=_importance(modifiers),
        expiration=next((word for word in map(word_of, modifiers) if word in EXPIRATIONS), expiration),
        sources=numbers_in(_value_of(modifiers, "source", "sources"))[:MAX_SOURCES],
        entities=_entities(modifiers),
    )


def _kind(word: str, kinds: Sequence[str]) -> str | None:
    """The kind that a word means, whatever its case, and in the plural too."""
    word = word_of(word)
    return next((kind for kind in kinds if word in (kind, f"{kind}s")), None)


def _tagged(item: Mapping[str, Any]) -> tuple[str, str]:
    """An object's fields as the tag and the text of a line."""
    fields = {key.lower(): value for key, value in item.items()}
    kind = _first(fields, "kind", "type", "category")
    sources = numbers_in(str(_first(fields, "source", "sources", "citations")))
    entities = _first(fields, "entities", "entity")
    named = [_entity_token(entity) for entity in (entities if isinstance(entities, list) else [entities])]
    parts = [
        inside_tag(str(kind)),
        inside_tag(str(_first(fields, "importance"))),
        inside_tag(str(_first(fields, "expiration"))),
        "source=" + ",".join(map(str, sources)),
        "entity=" + ",".join(filter(None, named)),
    ]
    text = _first(fields, "text", "content", "memory", "fact", "description")
    return ":".join(parts), text if isinstance(text, str) else ""


def _first(fields: Mapping[str, Any], *names: str) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), "")


def _entity_token(entity: Any) -> str:
    if isinstance(entity, dict):
        return f"{inside_tag(str(entity.get('name', '')))}/{_first(entity, 'type', 'kind')}"
    name, _, kind = str(entity).partition("/")
    return f"{inside_tag(name)}/{kind}"


def _importance(modifiers: Iterable[str]) -> int:
    return next((int(word) for word in modifiers if word in ("1", "2", "3")), IMPORTANCE)


def _value_of(modifiers: Iterable[str], *names: str) -> str:
    pairs = (word.partition("=") for word in modifiers)
    return next((value for key, _, value in pairs if word_of(key) in names), "")


def _entities(modifiers: Iterable[str]) -> tuple[NamedEntity, ...]:
    found: dict[str, NamedEntity] = {}
    for item in _value_of(modifiers, "entity", "entities").split(","):
        name, _, kind = item.partition("/")
        name, kind = inside_tag(name), word_of(kind)
        if name:
            found.setdefault(name.casefold(), NamedEntity(name, kind if kind in ENTITY_KINDS else UNKNOWN))
    return tuple(found.values())[:MAX_ENTITIES]


def print_memory(candidate: Candidate) -> str:
    """The line that reads as ``candidate`` again."""
    tag = [candidate.kind, str(candidate.importance), candidate.expiration]
    if candidate.sources:
        tag.append("source=" + ",".join(map(str, candidate.sources)))
    if candidate.entities:
        tag.append("entity=" + ",".join(f"{inside_tag(entity.name)}/{entity.kind}" for entity in candidate.entities))
    return f"[{':'.join(tag)}] {sentence(candidate.text)}"
