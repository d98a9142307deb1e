"""How many tokens the slots of chats needed in their prompts, for the tuning of budgets."""

from dataclasses import dataclass

from django.db.models import Count, Max, Q

from apps.chats.models import Character, Chat
from apps.common.scoping import Owner
from apps.prompts.models import SlotStatistics


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
