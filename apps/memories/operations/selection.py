"""Change several memories together, and undo that for those that have not been changed since."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.common.scoping import Owner, owner_id_of
from apps.memories.models import Memory
from apps.memories.signals import memories_changed, tombstones_changed

# Of each changed memory, by id: its version after the change, and the values that it had before.
FormerValues = dict[str, dict[str, Any]]


@transaction.atomic
def change_memories(owner: Owner, ids: Iterable[UUID], *, editor: str, **changes: Any) -> FormerValues:
    """Set pinned, hidden, importance or deleted_at of several memories as a person's correction.

    Memories that are deleted, are withheld or have these values already are not changed.
    """
    rows = (
        Memory.objects.for_owner(owner).present().filter(pk__in=ids, withheld=False).select_for_update().order_by("pk")
    )
    former: FormerValues = {}
    for memory in rows:
        values = {name: getattr(memory, name) for name in (*changes, "edited_by")}
        if any(values[name] != value for name, value in changes.items()):
            former[str(memory.pk)] = {"version": memory.version + 1, "values": values}
    changed = Memory.objects.for_owner(owner).filter(pk__in=former)
    changed.update(**changes, edited_by=editor, version=F("version") + 1, updated_at=timezone.now())
    if former and "deleted_at" in changes:
        tombstones_changed.send(Memory, owner_id=owner_id_of(owner))
    if former:
        memories_changed.send(Memory, owner_id=owner_id_of(owner), ids=[UUID(pk) for pk in former])
    return former


@transaction.atomic
def undo_changes(owner: Owner, former: Mapping[str, Mapping[str, Any]]) -> int:
    """Give memories their former values. Leave those that were changed since, and return how many were restored.

    What moderators have withheld meanwhile stays as it is: else it would no longer be hidden.
    """
    restored = []
    for memory_id, before in sorted(former.items()):
        unchanged = Memory.objects.for_owner(owner).filter(pk=memory_id, version=before["version"], withheld=False)
        if unchanged.update(**before["values"], version=F("version") + 1, updated_at=timezone.now()):
            restored.append(UUID(memory_id))
    if any("deleted_at" in before["values"] for before in former.values()):
        tombstones_changed.send(Memory, owner_id=owner_id_of(owner))
    memories_changed.send(Memory, owner_id=owner_id_of(owner), ids=restored)
    return len(restored)
