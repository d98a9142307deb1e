"""What hiding a thing does: models don't get it, nothing is recalled of it, and its owner can't change that."""

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.chats.models import Character, Chat, ChatChange, Lorebook, Message, Persona, Swipe
from apps.chats.signals import ChatChanged
from apps.common.scoping import Owner
from apps.memories.models import Memory, Passage
from apps.moderation.models import Case, Decision, Kind

MODELS: dict[str, Any] = {
    Kind.CHARACTER: Character,
    Kind.MESSAGE: Message,
    Kind.MEMORY: Memory,
    Kind.PERSONA: Persona,
    Kind.LOREBOOK: Lorebook,
}


def withhold(case: Case) -> None:
    """Keep the thing of a case, and its copies in branches, from models. Its owner goes on to see it, with a mark."""
    rows = _rows(case)
    if case.kind == Kind.MEMORY:
        case.was_hidden = rows.filter(withheld=False, hidden=True).exists() or case.was_hidden
        Case.objects.for_owner(case.owner_id).filter(pk=case.pk).update(was_hidden=case.was_hidden)
        rows.update(withheld=True, hidden=True)
        return
    if case.kind == Kind.MESSAGE:
        Passage.objects.for_owner(case.owner_id).filter(message__in=list(rows.values_list("pk", flat=True))).delete()
    rows.update(withheld=True)


def give_back(case: Case) -> None:
    """Let models have the thing of a case again, unless another decision hides it. What its owner hid stays hidden."""
    others = Case.objects.for_owner(case.owner_id).filter(kind=case.kind, hides=True).exclude(pk=case.pk)
    same = others.filter(target_id=case.target_id)
    if same.exists():
        if case.was_hidden:
            same.update(was_hidden=True)
        return
    shown = {"withheld": False} | ({"hidden": case.was_hidden} if case.kind == Kind.MEMORY else {})
    _rows(case).filter(withheld=True).update(**shown)
    if case.kind == Kind.MESSAGE:  # another one may hide a copy
        for other in others:
            withhold(other)


def withhold_restored(owner_id: UUID, **kwargs: Any) -> None:
    """Receive ``snapshot_restored``: withhold what is hidden now, and nothing whose decision was taken back since."""
    cases = Case.objects.for_owner(owner_id).order_by("pk")
    for case in cases.filter(decision=Decision.REVERSE):
        give_back(case)
    for case in cases.filter(hides=True):
        withhold(case)


def withhold_undone(event: ChatChanged, **kwargs: Any) -> None:
    """Receive ``chat_changed``: withhold messages that an undo has restored and that were hidden meanwhile."""
    if event.kind == ChatChange.Kind.UNDO:
        withhold_again(event.owner_id, event.chat_id)


def withhold_again(owner: Owner, chat_id: UUID) -> None:
    """Withhold the messages of a chat that are hidden."""
    for case in Case.objects.for_owner(owner).filter(kind=Kind.MESSAGE, hides=True, chat_id=chat_id):
        withhold(case)


def withhold_in_branch(chat: Chat, **kwargs: Any) -> None:
    """Receive ``chat_branched``: withhold the copies of messages that are withheld."""
    source = Message.objects.for_owner(chat.owner_id).filter(chat=chat.parent_id, withheld=True)
    indexes = list(source.values_list("index", flat=True))
    Message.objects.for_owner(chat.owner_id).filter(chat=chat, index__in=indexes).update(withheld=True)


def _rows(case: Case) -> QuerySet[Any]:
    """Return the thing of a case; with a message, its copies in all branches of the story."""
    rows: QuerySet[Any] = MODELS[case.kind]._base_manager.filter(owner_id=case.owner_id)  # also what is in the bin
    message = rows.select_related("chat").filter(pk=case.target_id).first() if case.kind == Kind.MESSAGE else None
    if message is None:
        return rows.filter(pk=case.target_id)
    swipes = Swipe.objects.for_owner(case.owner_id)
    texts = swipes.filter(message=message).exclude(mes="").values_list("mes", flat=True)
    copies = swipes.filter(message__chat__story=message.chat.story, mes__in=list(texts))
    same = {"message__send_date": message.send_date} if message.send_date else {"message__index": message.index}
    return rows.filter(Q(pk=message.pk) | Q(pk__in=list(copies.filter(**same).values_list("message", flat=True))))
