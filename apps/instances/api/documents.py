"""Convert the versions of a validated push, and the items of a pull, between JSON and rows."""

from collections.abc import Iterator
from typing import Any

from apps.common.database.ids import uuid7
from apps.instances.api.serializers import FileSerializer, SharedMemorySerializer
from apps.instances.models import Item
from apps.instances.operations.pushed import PushedVersion
from apps.instances.queries import Pulled
from apps.instances.resolution import Contender
from apps.memories.journal.periods import Granularity


def pushed_versions(body: dict[str, Any]) -> Iterator[PushedVersion]:
    """Yield the versions of a push, tombstones last."""
    for index, file in enumerate(body["identity"]):
        key = {"category": file["category"], "filename": file["filename"]}
        version = _version(file, file["content"], file["updated_at"])
        yield PushedVersion(f"/identity/{index}", Item.Kind.IDENTITY, key, version)
    for index, memory in enumerate(body["memories"]):
        written_for = memory["instance"] if memory["tier"] == "daily" else ""
        key = {"tier": memory["tier"], "written_for": written_for}
        if memory["period"] is not None or memory["tier"] != Granularity.SIGNIFICANT:
            key["period"] = memory["period"] or ""
        key["target"] = memory.get("id") or uuid7()
        version = _version(memory, memory["text"], memory["updated_at"])
        people = memory["participating_instances"]
        yield PushedVersion(f"/memories/{index}", Item.Kind.MEMORY, key, version, people, memory["chat"])
    for index, tombstone in enumerate(body["tombstones"]):
        names = ("target", "id"), ("category", "category"), ("filename", "filename")
        key = {name: tombstone[member] for name, member in names if member in tombstone}
        yield PushedVersion(f"/tombstones/{index}", tombstone["kind"], key, _version(tombstone, None, tombstone["at"]))


def _version(document: dict[str, Any], text: str | None, at: Any) -> Contender:
    return Contender(text, document["clock"], document["instance"], at)


def document_of(pulled: Pulled) -> dict[str, Any]:
    """Return the reply to a pull."""
    present = [item for item in pulled.items if item.deleted_at is None]
    files = [item for item in present if item.kind == Item.Kind.IDENTITY]
    memories = [item for item in present if item.kind == Item.Kind.MEMORY]
    return {
        "clock": pulled.clock,
        "identity": FileSerializer(files, many=True).data,
        "memories": SharedMemorySerializer(memories, many=True, context={"chats": pulled.chats}).data,
        "tombstones": [tombstone_of(item) for item in pulled.items if item.deleted_at],
        "next": str(pulled.cursor) if pulled.cursor is not None else None,
    }


def tombstone_of(item: Item) -> dict[str, Any]:
    """Return a deleted item as JSON."""
    is_file = item.kind == Item.Kind.IDENTITY
    name = {"category": item.category, "filename": item.filename} if is_file else {"id": str(item.target)}
    return {"kind": item.kind, **name, "clock": item.clock, "instance": item.instance, "at": item.changed_at}
