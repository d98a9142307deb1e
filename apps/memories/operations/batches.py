"""Change and delete several memories together: all of them, or none."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.common.problems import FieldError, Invalid
from apps.common.scoping import Owner, owner_id_of
from apps.memories.models import Memory
from apps.memories.operations.memories import edit_memory, vectors_of
from apps.memories.signals import memories_changed, tombstones_changed


@transaction.atomic
def apply_batch(
    owner: Owner, *, editor: str, update: Sequence[Mapping[str, Any]] = (), delete: Sequence[UUID] = ()
) -> list[UUID]:
    """Change and delete memories. Return the ids of the deleted ones. Each of ``update`` has an id and changes.

    Raise Invalid for what isn't there, or is named twice, and Conflict as ``edit_memory``.
    """
    vectors = iter(vectors_of(owner, [change["text"] for change in update if "text" in change]))
    names = [("update", number, change["id"]) for number, change in enumerate(update)]
    names += [("delete", number, memory_id) for number, memory_id in enumerate(delete)]
    rows = Memory.objects.for_owner(owner).undeleted().filter(pk__in=[memory_id for *_, memory_id in names])
    memories = {row.pk: row for row in rows.defer("embedding").select_for_update().order_by("pk")}
    _check(names, set(memories))
    for change in update:
        changes = {name: value for name, value in change.items() if name != "id"}
        vector = next(vectors) if "text" in changes else None
        edit_memory(memories[change["id"]], editor=editor, vector=vector, **changes)
    if delete:
        now = timezone.now()
        Memory.objects.for_owner(owner).filter(pk__in=delete).update(deleted_at=now, updated_at=now)
        tombstones_changed.send(Memory, owner_id=owner_id_of(owner))
        memories_changed.send(Memory, owner_id=owner_id_of(owner), ids=list(delete))
    return list(delete)


def _check(names: Sequence[tuple[str, int, UUID]], found: set[UUID]) -> None:
    errors, seen = [], set()
    for action, number, memory_id in names:
        pointer = f"/{action}/{number}/id" if action == "update" else f"/{action}/{number}"
        if memory_id not in found:
            errors.append(FieldError(pointer, "There is no such memory."))
        elif memory_id in seen:
            errors.append(FieldError(pointer, "It names a memory twice."))
        seen.add(memory_id)
    if errors:
        raise Invalid(errors[0].detail, errors=errors)
