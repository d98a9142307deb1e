"""Read the documents of the extension Smart Memory: of a chat, in its metadata, and of characters, in the settings.

Its message indexes count all messages of a chat from 0, as Loci's do.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from apps.exchange.memories.reading.found import Found, FoundArc, FoundEntity, FoundMemory, FoundScene, FoundText
from apps.exchange.memories.reading.values import (
    cuts,
    entity_kind,
    index_at,
    name_of,
    names_at,
    number_at,
    object_at,
    objects_at,
    span_of,
    text_at,
)
from apps.memories.candidates import (
    LEDGER_FIELDS,
    MAGNITUDES,
    MEDIUM,
    Descriptor,
    KnowledgeLine,
    NamedEntity,
    RelationshipLine,
    StateLine,
)
from apps.memories.models import Knowledge, Memory, VersionedText
from apps.memories.operations.texts import PROFILE_SECTIONS
from apps.memories.trigger_words import trigger_words

MAX_TRIGGERS = 50

CHAT_KEY = "smartMemory"  # in the metadata of a chat
SETTINGS_KEY = "smart_memory"  # in the settings of extensions

LONG_TERM_KINDS = ("fact", "relationship", "preference", "event")
SESSION_KINDS = ("scene", "revelation", "development", "detail")
# Names of fields of the ledger that differ from Loci's.
LEDGER_NAMES = {
    "active_goal": "goal",
    "outfit_disguise": "outfit",
    "carried_items": "carried",
    "political_control": "control",
}


def read_chat(document: Mapping[str, Any]) -> Found:
    """Return what the document of a chat holds."""
    found = Found(warnings=cuts(document))
    _read_entities(found, document, "sessionEntities")
    names = _entity_names(document, "sessionEntities")
    for record in objects_at(document, "sessionMemories"):
        _add(found, _memory(record, Memory.Tier.SESSION, SESSION_KINDS, "detail", names))
    _read_arcs(found, document, "storyArcs", persistent=False)
    for record in objects_at(document, "arcSummaries"):
        if text := text_at(record, "arc"):
            found.arcs.append(FoundArc(text, resolved=True, summary=text_at(record, "summary")))
    for record in objects_at(document, "sceneHistory"):
        if recap := text_at(record, "summary"):
            found.scenes.append(FoundScene(recap, int(number_at(record, "ts") or 0)))
    if summary := text_at(document, "summary"):
        last = index_at(document, "summaryEnd")
        found.texts.append(FoundText(VersionedText.Kind.SUMMARY, summary, last=last))
    for name, profile in object_at(document, "profiles").items():
        if isinstance(profile, dict) and name_of(name):
            sections = {section: text_at(profile, section) for section in PROFILE_SECTIONS}
            text = "\n\n".join(filter(None, sections.values()))
            if text:
                found.texts.append(FoundText(VersionedText.Kind.PROFILE, text, name_of(name), sections))
    _read_ledger(found, object_at(document, "state_ledger"))
    return found


def read_character(document: Mapping[str, Any]) -> Found:
    """Return what the document of a character holds, which applies to all its chats."""
    found = Found(warnings=cuts(document))
    _read_entities(found, document, "entities")
    names = _entity_names(document, "entities")
    for record in objects_at(document, "memories"):
        _add(found, _memory(record, Memory.Tier.LONG_TERM, LONG_TERM_KINDS, "fact", names))
    _read_arcs(found, document, "persistent_arcs", persistent=True)
    if canon := text_at(object_at(document, "canon"), "text"):
        found.texts.append(FoundText(VersionedText.Kind.CANON, canon))
    found.relationships += _relationships(object_at(document, "relationship_history"))
    for record in objects_at(document, "epistemic_knowledge"):
        kind, subject, text = text_at(record, "type"), name_of(record.get("subject")), text_at(record, "content")
        if kind not in Knowledge.Kind.values or not subject or not text:
            found.warn("An entry of who knows what was incomplete and was not read.")
            continue
        target = name_of(record.get("target")) if kind == Knowledge.Kind.HIDING else ""
        found.knowledge.append((KnowledgeLine(kind, subject, target, text), span_of(record.get("source_messages"))))
    return found


def characters_in(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the documents of characters in SillyTavern's settings file, by the characters' names; empty if none."""
    own = object_at(object_at(settings, "extension_settings"), SETTINGS_KEY)
    return {name: value for name, value in object_at(own, "characters").items() if isinstance(value, dict)}


def _add(found: Found, memory: FoundMemory | None) -> None:
    if memory is None:
        found.warn("A memory without a text was not read.")
    else:
        found.memories.append(memory)


def _memory(
    record: Mapping[str, Any], tier: str, kinds: tuple[str, ...], other: str, names: Mapping[str, NamedEntity]
) -> FoundMemory | None:
    text, kind = text_at(record, "content"), text_at(record, "type")
    if not text:
        return None
    confidence, importance = number_at(record, "confidence"), number_at(record, "importance")
    expiration = text_at(record, "expiration")
    ids = record.get("entities")
    return FoundMemory(
        tier=tier,
        kind=kind if kind in kinds else other,
        text=text,
        key=text_at(record, "id"),
        importance=int(min(max(importance or 2, 1), 3)),
        expiration=expiration if expiration in Memory.Expiration.values else Memory.Expiration.PERMANENT,
        confidence=min(max(0.7 if confidence is None else confidence, 0.0), 1.0),
        triggers=_triggers(record),
        entities=tuple(names[key] for key in ids if isinstance(key, str) and key in names)
        if isinstance(ids, list)
        else (),
        known_to=names_at(record, "witnessed_by"),
        span=span_of(record.get("source_messages")),
        superseded_by=text_at(record, "superseded_by"),
    )


def _triggers(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the words of a turn that recall a memory."""
    words = (word for name in names_at(record, "triggers") for word in trigger_words(name))
    return tuple(dict.fromkeys(words))[:MAX_TRIGGERS]


def _read_entities(found: Found, document: Mapping[str, Any], key: str) -> None:
    for record in objects_at(document, key):
        if name := name_of(record.get("name")):
            found.entities.append(FoundEntity(name, entity_kind(record.get("type")), names_at(record, "aliases")))


def _entity_names(document: Mapping[str, Any], key: str) -> dict[str, NamedEntity]:
    """Return the entities of a registry by their ids."""
    return {
        text_at(record, "id"): NamedEntity(name, entity_kind(record.get("type")))
        for record in objects_at(document, key)
        if (name := name_of(record.get("name")))
    }


def _read_arcs(found: Found, document: Mapping[str, Any], key: str, *, persistent: bool) -> None:
    for record in objects_at(document, key):
        if text := text_at(record, "content"):
            lasting = persistent or record.get("persistent") is True
            found.arcs.append(FoundArc(text, resolved=record.get("resolved") is True, persistent=lasting))


def _read_ledger(found: Found, ledger: Mapping[str, Any]) -> None:
    """Read states under keys such as ``mira|character``. Fields that begin with ``_`` are the program's own."""
    for key, fields in ledger.items():
        name, _, kind = key.rpartition("|")
        if not isinstance(fields, dict) or kind not in LEDGER_FIELDS or not name_of(name):
            found.warn("A state of something that is no character, object, place or faction was not read.")
            continue
        values = {}
        for field in fields:
            own = LEDGER_NAMES.get(field, field)
            if own in LEDGER_FIELDS[kind] and (value := text_at(fields, field, 500)):
                values[own] = value
            elif not field.startswith("_"):
                found.warn(f"The field “{field[:40]}” of states was not read.")
        if values:
            found.states.append(StateLine(name_of(fields.get("_name")) or name_of(name), kind, values))


def _relationships(history: Mapping[str, Any]) -> Iterator[RelationshipLine]:
    """Yield the lines of a history whose keys are such as ``Mira→Alice``."""
    for key, value in history.items():
        subject, arrow, target = key.partition("→")
        descriptors = tuple(
            Descriptor(word, magnitude if magnitude in MAGNITUDES else MEDIUM)
            for item in (objects_at(value, "descriptors") if isinstance(value, dict) else ())
            if (word := text_at(item, "word", 60))
            for magnitude in [text_at(item, "magnitude")]
        )
        if arrow and name_of(subject) and name_of(target) and descriptors:
            yield RelationshipLine(name_of(subject), name_of(target), descriptors)
