"""Remove what the journal tells of a chat that is deleted for good."""

from typing import Any

from django.db.models import F
from django.utils import timezone

from apps.chats.models import Chat
from apps.memories.journal_bullets import without_chat
from apps.memories.lexemes import Lexemes
from apps.memories.models import JournalEntry
from apps.memories.operations.journal import delete_entry, mark_ancestors_stale


def on_chat_purged(chat: Chat, **kwargs: Any) -> None:
    """Remove the bullets of a chat from the entries of days; those without other bullets become tombstones.

    What is made of them is made again. What a person wrote or edited stays, and so does everything if the memories of
    the chat are kept. The entries get no vector here, since a model would be asked while they are locked: a job embeds
    them afterwards.
    """
    if chat.keeps_memories:
        return
    entries = JournalEntry.objects.for_owner(chat.owner_id).present()
    for entry in entries.filter(granularity="daily", edited_by="", chats__contains=[str(chat.pk)]).order_by("pk"):
        text = without_chat(entry.text, str(chat.pk))
        if text == entry.text:
            continue
        title = entry.title if text.strip() else ""
        JournalEntry.objects.for_owner(chat.owner_id).filter(pk=entry.pk).update(
            title=title,
            text=text,
            lexemes=Lexemes(f"{title}\n{text}"),
            embedding=None,
            embedding_model="",
            version=F("version") + 1,
            updated_at=timezone.now(),
        )
        if text.strip():
            mark_ancestors_stale(entry)
        else:
            delete_entry(entry)
