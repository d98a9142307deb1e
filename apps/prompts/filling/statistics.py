"""How many tokens the slots of a chat needed and got, for the tuning of budgets."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection
from django.db.models import Count, Max, Q
from django.utils import timezone

from apps.chats.models import Character, Chat
from apps.common.database.ids import uuid7
from apps.common.scoping import Owner
from apps.prompts.models import SlotStatistics
from apps.prompts.slots.entries import FilledSlot

# One statement: of two prompts at once, neither loses what the other needed. Rows are written in the order of their
# names, so that two such statements can't deadlock.
_RECORD = """
INSERT INTO injection_slotstatistics
    (id, owner_id, chat_id, slot, tokens, full_tokens, trimmed, budget, high_water, updated_at)
SELECT id, %(owner)s, %(chat)s, slot, tokens, full_tokens, trimmed, budget, needed, %(now)s
FROM unnest(
    %(ids)s::uuid[], %(slots)s::text[], %(tokens)s::int[], %(full)s::int[], %(trimmed)s::int[], %(budgets)s::int[],
    %(needed)s::int[]
) AS new (id, slot, tokens, full_tokens, trimmed, budget, needed)
ORDER BY slot
ON CONFLICT (chat_id, slot) DO UPDATE SET
    tokens = excluded.tokens, full_tokens = excluded.full_tokens, trimmed = excluded.trimmed,
    budget = excluded.budget, updated_at = excluded.updated_at,
    high_water = greatest(injection_slotstatistics.high_water, excluded.high_water)
"""


def record(chat: Chat, filled: Iterable[FilledSlot]) -> None:
    """Record what the slots of a prompt needed and got. A text that a person edited says nothing of what they need."""
    rows = list(filled)
    with connection.cursor() as cursor:
        cursor.execute(
            _RECORD,
            {
                "owner": chat.owner_id,
                "chat": chat.pk,
                "now": timezone.now(),
                "ids": [uuid7() for _ in rows],
                "slots": [row.slot.name for row in rows],
                "tokens": [row.tokens for row in rows],
                "full": [row.full_tokens for row in rows],
                "trimmed": [row.trimmed for row in rows],
                "budgets": [row.budget for row in rows],
                "needed": [0 if row.edited else row.full_tokens for row in rows],
            },
        )


@dataclass(frozen=True)
class SlotHistory:
    """In how many of how many chats the last prompt lost entries of a slot, and the most tokens that one needed."""

    cut: int
    chats: int
    needed: int


def histories_of(owner: Owner, character: Character | None = None) -> dict[str, SlotHistory]:
    """Return the history of each slot by its name, over the owner's chats, or those of a character."""
    rows = SlotStatistics.objects.for_owner(owner).filter(chat__deleted_at=None)
    rows = rows.filter(chat__character=character) if character else rows
    counted = rows.values("slot").annotate(
        cut=Count("pk", filter=Q(trimmed__gt=0)), chats=Count("pk"), needed=Max("high_water")
    )
    return {row["slot"]: SlotHistory(row["cut"], row["chats"], row["needed"]) for row in counted}


def demands_of(chat: Chat) -> dict[str, int]:
    """Return the highest number of tokens that each slot of the chat has needed."""
    rows = SlotStatistics.objects.for_owner(chat.owner_id).filter(chat=chat)
    return dict(rows.values_list("slot", "high_water"))
