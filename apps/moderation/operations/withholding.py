"""What hiding a thing does: models don't get it, nothing is recalled of it, and its owner can't change that.

Readers leave out withheld messages by ``told`` and ``remembered``, memories as ``hidden``; ``prompts.assembly.frame``
leaves out withheld characters, personas and lorebooks.
"""

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.chats.models import Chat, Message, Swipe
from apps.common.scoping import Owner, owner_id_of
from apps.extraction.tasks import settle_chat
from apps.memories.models import Memory, Passage
from apps.memories.signals import memories_changed
from apps.moderation.models import Case, Decision, Kind
from apps.moderation.targets import MODELS


def withhold(case: Case) -> None:
    """Keep the thing of a case, and its copies in branches, from models. Its owner goes on to see it, with a mark."""
    rows = _rows(case)
    if case.kind == Kind.MEMORY:
        case.was_hidden = rows.filter(withheld=False, hidden=True).exists() or case.was_hidden
        Case.objects.for_owner(case.owner_id).filter(pk=case.pk).update(was_hidden=case.was_hidden)
        rows.update(withheld=True, hidden=True)
        _announce(case)
        return
    if case.kind == Kind.MESSAGE:
        case.copies = sorted({*case.copies, *rows.values_list("pk", flat=True)})
        Case.objects.for_owner(case.owner_id).filter(pk=case.pk).update(copies=case.copies)
        Passage.objects.for_owner(case.owner_id).filter(message__in=case.copies).delete()
    rows.update(withheld=True)
    _settle(case)


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
    _announce(case)
    _settle(case)
    if case.kind == Kind.MESSAGE:  # another one may hide a copy
        for other in others:
            withhold(other)


def _announce(case: Case) -> None:
    """Tell those who follow memories that one of them was hidden or shown."""
    if case.kind == Kind.MEMORY:
        memories_changed.send(Memory, owner_id=case.owner_id, ids=[case.target_id])


def _settle(case: Case) -> None:
    """Have all that is remembered of a message retired, or the message read again, as it is hidden or shown now."""
    if case.kind == Kind.MESSAGE:
        for chat_id in _rows(case).values_list("chat", flat=True).order_by("chat").distinct():
            settle_chat.delay_on_commit(chat_id=str(chat_id))


def withhold_restored(owner_id: UUID, **kwargs: Any) -> None:
    """Receive ``snapshot_restored``: withhold what is hidden now, and nothing whose decision was taken back since."""
    _decide_again(Case.objects.for_owner(owner_id))


def _decide_again(cases: QuerySet[Case]) -> None:
    for case in cases.filter(decision=Decision.REVERSE).order_by("pk"):
        give_back(case)
    for case in cases.filter(hides=True).order_by("pk"):
        withhold(case)


def withhold_undone(chat: Chat, **kwargs: Any) -> None:
    """Receive ``change_undone``: withhold messages that an undo has restored and that were hidden meanwhile."""
    withhold_again(chat.owner_id, chat.pk)


def withhold_again(owner: Owner, chat_id: UUID) -> None:
    """Withhold the messages of a chat's story that are hidden, and none whose decision was taken back since."""
    chats = Chat._base_manager.filter(owner_id=owner_id_of(owner))
    story = chats.filter(story__in=chats.filter(pk=chat_id).values("story"))
    _decide_again(Case.objects.for_owner(owner).filter(kind=Kind.MESSAGE, chat_id__in=story.values("pk")))


def withhold_in_branch(chat: Chat, **kwargs: Any) -> None:
    """Receive ``chat_branched``: withhold the copies of messages that are withheld, and note them in their cases."""
    source = Message.objects.for_owner(chat.owner_id).filter(chat=chat.parent_id, withheld=True)
    indexes = list(source.values_list("index", flat=True))
    Message.objects.for_owner(chat.owner_id).filter(chat=chat, index__in=indexes).update(withheld=True)
    if indexes:
        withhold_again(chat.owner_id, chat.pk)


def _rows(case: Case) -> QuerySet[Any]:
    """Return the thing of a case, with a message's copies in its story, and with memories learnt again of a line."""
    model = Message if case.kind == Kind.MESSAGE else MODELS[case.kind]
    rows: QuerySet[Any] = model._base_manager.filter(owner_id=case.owner_id)  # also what is in the bin
    thing = rows.filter(pk=case.target_id).first()
    known = Q(pk__in=[case.target_id, *case.copies])
    if case.kind == Kind.MESSAGE and thing is not None:
        return rows.filter(known | Q(pk__in=_copies_of(thing)))
    if case.kind == Kind.MEMORY and thing is not None and thing.candidate_hash:
        same = {name: getattr(thing, name) for name in ("chat_id", "character_id", "tier", "candidate_hash")}
        return rows.filter(known | Q(**same))
    return rows.filter(known)


def _copies_of(message: Message) -> list[UUID]:
    """Return the ids of the messages of the story that have a text of this one, at the same place or moment."""
    swipes = Swipe.objects.for_owner(message.owner_id)
    texts = swipes.filter(message=message).exclude(mes="").values_list("mes", flat=True)
    story = Chat._base_manager.filter(pk=message.chat_id).values("story")
    copies = swipes.filter(message__chat__story__in=story, mes__in=list(texts))
    found = copies.values_list("message", "message__index", "message__send_date")
    # The database has no equality of `json`, so the moments, which a file may write in any form, are compared here.
    if message.send_date:
        return [pk for pk, _, send_date in found if send_date == message.send_date]
    return [pk for pk, index, _ in found if index == message.index]
