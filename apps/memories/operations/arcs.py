"""Write arcs."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from apps.chats.models import Character, Chat, Message
from apps.common.scoping import Owner, owner_id_of
from apps.memories.models import Arc, Ending
from apps.memories.operations.endings import end_elsewhere
from apps.memories.operations.layer_entries import edit_entry, line_hash, newest_message, source_fields, until_fields


def add_arc(
    owner: Owner,
    text: str,
    *,
    chat: Chat | None,
    character: Character | None,
    source: Message | None = None,
    **columns: Any,
) -> Arc:
    """Create an arc that begins at the message ``source``; without one, nothing tells where it began."""
    return Arc.objects.create(
        owner_id=owner_id_of(owner), chat=chat, character=character, text=text, **source_fields(source), **columns
    )


def open_arc(
    chat: Chat, text: str, source: Message, *, vector: Sequence[float] | None, model: str, run_id: UUID | None
) -> Arc:
    """Create an arc that a run detected in the message ``source``. ``vector`` is its embedding by ``model``."""
    return add_arc(
        chat.owner_id,
        text,
        chat=chat,
        character=chat.character,
        source=source,
        embedding=vector,
        embedding_model=model,
        run_id=run_id,
        line_hash=line_hash(text, source.pk),
    )


def resolve_arc(arc: Arc, message: Message, summary: str) -> int:
    """Resolve an arc at ``message`` for a run. Return 0 if it is no longer open, else 1.

    An arc of another story is resolved for those chats alone that see the message's chat.
    """
    if arc.chat_id != message.chat_id:
        return end_elsewhere(message.chat, arc, Arc.State.RESOLVED, message, summary=summary)
    rows = Arc.objects.for_owner(arc.owner_id).filter(pk=arc.pk, state=Arc.State.OPEN)
    return int(rows.update(state=Arc.State.RESOLVED, summary=summary, **until_fields(message)))


def create_arc(chat: Chat, text: str, *, editor: str, persistent: bool = False) -> Arc:
    """Create an arc that a person wrote. It begins at the newest message."""
    return add_arc(
        chat.owner_id,
        text,
        chat=chat,
        character=chat.character,
        source=newest_message(chat),
        persistent=persistent,
        edited_by=editor,
    )


def close_arc(arc: Arc, *, editor: str, summary: str = "") -> Arc:
    """Resolve an arc by hand at the newest message."""
    newest = newest_message(arc.chat) if arc.chat else None
    return edit_entry(
        arc,
        editor=editor,
        state=Arc.State.RESOLVED,
        summary=summary or arc.summary,
        until=newest,
        until_swipe=newest.active_swipe if newest else None,
    )


def reopen_arc(arc: Arc, *, editor: str) -> Arc:
    """Reopen an arc by hand, also where other stories resolved it."""
    Ending.objects.for_owner(arc.owner_id).filter(arc=arc).delete()
    return edit_entry(
        arc,
        editor=editor,
        state=Arc.State.OPEN,
        state_before="",
        until=None,
        until_swipe=None,
        retired_reason="",
        retired_by="",
    )
