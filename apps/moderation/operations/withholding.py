"""What hiding a thing does: models don't get it, nothing is recalled of it, and its owner can't change that."""

from typing import Any
from uuid import UUID

from apps.chats.models import Character, Chat, Message
from apps.common.scoping import Owner
from apps.memories.models import Memory, Passage
from apps.moderation.models import Case, Kind

MODELS: dict[str, Any] = {Kind.CHARACTER: Character, Kind.MESSAGE: Message, Kind.MEMORY: Memory}


def withhold(case: Case) -> None:
    """Keep the thing of a case from models. Its owner goes on to see it, with a mark."""
    if case.kind in MODELS:
        hidden = {"withheld": True} | ({"hidden": True} if case.kind == Kind.MEMORY else {})
        MODELS[case.kind].objects.for_owner(case.owner_id).filter(pk=case.target_id).update(**hidden)
    if case.kind == Kind.MESSAGE:
        Passage.objects.for_owner(case.owner_id).filter(message=case.target_id).delete()


def give_back(case: Case) -> None:
    """Let models have the thing of a case again, unless another decision hides it."""
    others = Case.objects.for_owner(case.owner_id).filter(kind=case.kind, target_id=case.target_id, hides=True)
    if case.kind in MODELS and not others.exclude(pk=case.pk).exists():
        shown = {"withheld": False} | ({"hidden": False} if case.kind == Kind.MEMORY else {})
        MODELS[case.kind].objects.for_owner(case.owner_id).filter(pk=case.target_id, withheld=True).update(**shown)


def withhold_again(owner: Owner, chat_id: UUID) -> None:
    """Withhold messages of a chat that were deleted and restored since they were hidden."""
    hiding = Case.objects.for_owner(owner).filter(kind=Kind.MESSAGE, hides=True, chat_id=chat_id)
    rows = Message.objects.for_owner(owner).filter(chat=chat_id, withheld=False)
    rows.filter(pk__in=list(hiding.values_list("target_id", flat=True))).update(withheld=True)


def withhold_in_branch(chat: Chat, **kwargs: Any) -> None:
    """Receive ``chat_branched``: withhold the copies of messages that are withheld."""
    source = Message.objects.for_owner(chat.owner_id).filter(chat=chat.parent_id, withheld=True)
    indexes = list(source.values_list("index", flat=True))
    Message.objects.for_owner(chat.owner_id).filter(chat=chat, index__in=indexes).update(withheld=True)
