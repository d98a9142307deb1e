"""Read the questions which of two memories is true now."""

from django.db.models import Prefetch, Q, QuerySet

from apps.chats.models import Character, Chat
from apps.common.scoping import Owner
from apps.memories.models import Memory, Question
from apps.memories.visibility import counts


def questions_of(owner: Owner) -> QuerySet[Question]:
    """Return the owner's questions with both memories and their history, newest first.

    Those about a memory that was deleted or is in the bin are left out.
    """
    history = Memory.objects.for_owner(owner).select_related("chat", "valid_from__chat").with_history()
    rows: QuerySet[Question] = Question.objects.for_owner(owner).filter(
        first__deleted_at=None, second__deleted_at=None, first__in_bin=False, second__in_bin=False
    )
    return rows.prefetch_related(Prefetch("first", history), Prefetch("second", history)).order_by("-pk")


def still_open(rows: QuerySet[Question]) -> QuerySet[Question]:
    """Narrow questions to those without an answer, about two active memories."""
    return rows.filter(counts("first__"), counts("second__"), answer="")


def about(rows: QuerySet[Question], chat: Chat | None, character: Character | None) -> QuerySet[Question]:
    """Narrow questions to a chat, where one of the memories was learnt, or without one to a character."""
    if chat is not None:
        return rows.filter(Q(chat=chat) | Q(first__chat=chat))
    return rows.filter(second__character=character)
