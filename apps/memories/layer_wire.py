"""The layers beside memories as documents of the HTTP contract."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from apps.chats.dates import timestamp
from apps.memories.models import Arc, Entity, Knowledge, LedgerEntry, Relationship, VersionedText
from apps.memories.queries import EntityState, Pair


def identifier(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def _common(row: Any) -> dict[str, Any]:
    """Where an entry came from and ended, and who corrected it."""
    return {
        "id": str(row.pk),
        "state": row.state,
        "source": identifier(row.source_id),
        "until": identifier(row.until_id),
        "edited_by": row.edited_by,
        "version": row.version,
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp(row.updated_at),
    }


def arc_document(arc: Arc) -> dict[str, Any]:
    return _common(arc) | {
        "chat": identifier(arc.chat_id),
        "text": arc.text,
        "summary": arc.summary,
        "persistent": arc.persistent,
    }


def entry_document(entry: LedgerEntry) -> dict[str, Any]:
    return _common(entry) | {"field": entry.field, "value": entry.value}


def state_document(state: EntityState) -> dict[str, Any]:
    return {
        "entity": entity_document(state.entity),
        "fields": {field.name: field.current.value for field in state.fields if field.current},
        "entries": [
            entry_document(entry)
            for field in state.fields
            for entry in ([field.current, *field.before] if field.current else field.before)
        ],
    }


def entity_document(entity: Entity) -> dict[str, Any]:
    return {
        "id": str(entity.pk),
        "name": entity.name,
        "kind": entity.kind,
        "aliases": entity.aliases,
        "character": identifier(entity.character_id),
        "chat": identifier(entity.chat_id),
    }


def knowledge_document(row: Knowledge) -> dict[str, Any]:
    return _common(row) | {
        "kind": row.kind,
        "subject": row.subject.name,
        "target": row.target.name if row.target else None,
        "text": row.text,
    }


def word_document(row: Relationship) -> dict[str, Any]:
    return _common(row) | {"word": row.descriptor, "magnitude": row.magnitude}


def pair_document(pair: Pair) -> dict[str, Any]:
    return {
        "subject": pair.subject.name,
        "target": pair.target.name,
        "descriptors": [word_document(row) for row in pair.words],
        "history": [word_document(row) for row in pair.before],
    }


def digest_document(digest: VersionedText) -> dict[str, Any]:
    return _common(digest) | {
        "kind": digest.kind,
        "character": identifier(digest.character_id),
        "text": digest.text,
        **digest.parts,
    }


def digests_document(current: VersionedText | None, versions: Iterable[VersionedText]) -> dict[str, Any]:
    """The current version, null where there is none, and all versions, newest first."""
    return {
        "current": digest_document(current) if current else None,
        "versions": [digest_document(digest) for digest in versions],
    }
