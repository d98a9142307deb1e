"""The note that repairs a contradiction in the last reply: in the next prompt, and gone after its reply."""

from django.db import transaction
from django.utils.translation import gettext

from apps.chats.locking import lock_chat
from apps.chats.models import Chat, Swipe
from apps.common.problems import Missing
from apps.memories.models import VersionedText
from apps.memories.operations.layer_entries import retire_entry
from apps.memories.queries.texts import current_version


def pending_note(chat: Chat) -> VersionedText | None:
    """Return the note that the next prompt of the chat holds, or None.

    A note is answered by any reply written after it, whoever wrote it: also by another version of a reply.
    """
    note = current_version(chat, VersionedText.Kind.REPAIR)
    if note is None or note.source is None:
        return None
    replies = Swipe.objects.for_owner(chat.owner_id).filter(
        message__chat=chat, message__is_user=False, message__is_system=False
    )
    return None if replies.filter(created_at__gt=note.created_at).exists() else note


@transaction.atomic
def cancel_note(chat: Chat, *, editor: str) -> None:
    """Keep the pending note out of the next prompt. Raise Missing if there is none."""
    chat = lock_chat(chat.owner_id, chat.pk)
    note = pending_note(chat)
    if note is None:
        raise Missing(gettext("There is no repair note for the next prompt."))
    retire_entry(note, editor=editor)
