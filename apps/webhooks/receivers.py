"""Receivers of signals: note for webhooks what happens in an account, in the same transaction."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from apps.common.jobs.models import OPEN_STATES
from apps.extraction.models import ExtractionRun
from apps.memories.models import Memory
from apps.prompts.models import Recall
from apps.webhooks.models import Event
from apps.webhooks.operations import announce

# Columns of which a change is told: others follow from searches, votes and new vectors.
TOLD = {"text", "state", "kind", "importance", "hidden", "pinned", "expiration", "deleted_at"}
TOLD |= {"tags", "metadata", "expires_at"}


def on_memory_saved(
    instance: Memory, created: bool, raw: bool, update_fields: Iterable[str] | None = None, **kwargs: Any
) -> None:
    """Announce a new memory, or one whose columns a person sees were changed."""
    if raw or not (created or update_fields is None or TOLD & set(update_fields)):
        return
    event = Event.MEMORY_ADDED if created else Event.MEMORY_CHANGED
    data = {"memory": instance.pk, "chat": instance.chat_id, "character": instance.character_id}
    announce(instance.owner_id, event, [instance.pk], data)


def on_memories_written(owner_id: UUID, ids: Iterable[UUID], created: bool = False, **kwargs: Any) -> None:
    """Announce memories that were inserted at once. Others were announced when they were saved."""
    if created:
        announce(owner_id, Event.MEMORY_ADDED, list(ids), {})


def on_memories_changed(owner_id: UUID, ids: Iterable[UUID], **kwargs: Any) -> None:
    """Announce memories that were changed at once, which send no signals of their own."""
    announce(owner_id, Event.MEMORY_CHANGED, list(ids), {})


def on_run_changed(job: ExtractionRun, state: str, **kwargs: Any) -> None:
    """Announce a run that has ended."""
    if state not in OPEN_STATES:
        announce(job.owner_id, Event.RUN_ENDED, [job.pk], {"run": job.pk, "chat": job.chat_id, "state": state})


def on_recall_saved(
    instance: Recall, created: bool, raw: bool, update_fields: Iterable[str] | None = None, **kwargs: Any
) -> None:
    """Announce a recall that was made for a turn."""
    if not raw and (created or "message" in (update_fields or ())):  # its message may come later
        data = {"recall": instance.pk, "message": instance.message_id, "chat": instance.chat_id}
        announce(instance.owner_id, Event.RECALL_MADE, [instance.pk], data)
