"""Read the changes of a chat that a person may want to undo."""

from typing import Any

from django.db.models import Q

from apps.chats.models import Chat, ChatChange

EDITS = (ChatChange.Kind.PATCH, ChatChange.Kind.METADATA)


def undoable_changes(chat: Chat) -> Any:
    """Return the edits by people and their programs that the log can still undo, and those undone, latest first.

    Messages written at the end are left out: undoing that deletes them, which the chat's page does, with a way back.
    So is what Loci itself writes, such as replies.
    """
    return chat.changes.filter(kind__in=EDITS, before__isnull=False).exclude(writer="").order_by("-rev")


def later_changes(chat: Chat, change: ChatChange) -> Any:
    """Return those of ``undoable_changes`` that changed the same messages, or the same order, later; latest first."""
    touched = [*change.message_ids, *change.deleted_ids]
    again = Q(message_ids__overlap=touched) | Q(deleted_ids__overlap=touched)
    if change.reordered:
        again |= Q(reordered=True)
    return undoable_changes(chat).filter(again, rev__gt=change.rev)
