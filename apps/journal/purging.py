"""Remove what the journal tells of a chat that is deleted for good."""

from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.chats.models import Chat
from apps.extraction.jobs.embedding_jobs import on_embedding_changed
from apps.journal.consolidation import consolidate
from apps.journal.entries import delete_entry, entry_of, mark_ancestors_stale, period_of
from apps.memories.journal.bullets import without_chat
from apps.memories.journal.periods import CONSOLIDATED, Period, ancestors
from apps.memories.models import JournalEntry
from apps.text.lexemes import Lexemes


def on_chat_purged(chat: Chat, **kwargs: Any) -> None:
    """Remove the bullets of a chat from the entries of days; those without other bullets become tombstones.

    What was made of them is made again at once. What a person wrote or edited stays, and so does everything if the
    memories of the chat are kept. Entries get no vector here, since a model would be asked while chat and owner are
    locked: a job embeds them after the commit.
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
    for period in periods_told_of(chat):
        if (above := entry_of(chat.owner_id, period)) and above.stale:
            consolidate(chat.owner_id, period, with_vector=False)
    # Robust: the chat is deleted by then, which must not look failed because a broker is down.
    transaction.on_commit(lambda: on_embedding_changed(chat.owner_id), robust=True)


def periods_told_of(chat: Chat) -> list[Period]:
    """Return the weeks, months and years above the days that a chat is or was told of in, lower levels first."""
    days = JournalEntry.objects.for_owner(chat.owner_id).filter(granularity="daily", chats__contains=[str(chat.pk)])
    found = {period for entry in days.only("granularity", "period") for period in ancestors(period_of(entry))}
    return sorted(found, key=lambda period: (CONSOLIDATED.index(period.granularity), period.first))
