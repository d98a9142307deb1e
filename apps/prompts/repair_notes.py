"""The note that repairs a contradiction in the last reply: in the next prompt, and gone after its reply.

On the chat page it stands under the newest reply, and appears once the reply was checked.
"""

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction
from django.template.loader import get_template
from django.utils.translation import gettext

from apps.chats.locking import lock_chat
from apps.chats.models import Chat, Message
from apps.common.problems import Missing
from apps.common.scoping import Owner
from apps.memories.operations.layer_entries import retire_entry
from apps.prompts.retrieval.texts import pending_note


@transaction.atomic
def cancel_note(chat: Chat, *, editor: str) -> None:
    """Keep the pending note out of the next prompt. Raise Missing if there is none."""
    chat = lock_chat(chat.owner_id, chat.pk)
    note = pending_note(chat)
    if note is None:
        raise Missing(gettext("There is no repair note for the next prompt."))
    retire_entry(note, editor=editor)


def repair_panel(owner: Owner, messages: Iterable[Message]) -> dict[UUID, str]:
    """Return the place of the note as HTML, by the id of the chat's newest reply if it is among ``messages``."""
    replies = [message for message in messages if not message.is_user and not message.is_system]
    newest = max(replies, key=lambda message: message.index, default=None)
    if newest is None or _later_replies(owner, newest):
        return {}
    chat = Chat.objects.for_owner(owner).filter(pk=newest.chat_id).first()
    return {newest.pk: render_note(chat, str(newest.pk))} if chat else {}


def render_note(chat: Chat, message_id: str) -> str:
    """Return the note under a message as HTML, or an empty place for one that comes later."""
    note = pending_note(chat)
    shown = note if note and str(note.source_id) == message_id else None
    context = {"chat": chat, "note": shown, "message_id": message_id}
    return get_template("prompts/_repair.html").render(context)


def _later_replies(owner: Owner, message: Message) -> bool:
    rows = Message.objects.for_owner(owner).filter(chat_id=message.chat_id, is_user=False, is_system=False)
    return bool(rows.filter(index__gt=message.index).exists())
