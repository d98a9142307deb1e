"""Recalls in the background, for turns that come in without a page to show them on."""

from typing import Any
from uuid import UUID

from celery import shared_task

from apps.chats.events import ChatChanged
from apps.chats.models import ChatChange, Message
from apps.common.problems import Missing
from apps.injection.recalling import ensure_recall


@shared_task
def recall_sent_turn(*, owner_id: str, chat_id: str, message_id: str, **kwargs: Any) -> None:
    """Make the recall of a turn. One that is gone by now needs none."""
    try:
        ensure_recall(UUID(owner_id), UUID(chat_id), UUID(message_id))
    except Missing:
        return


def recall_when_sent(event: ChatChanged) -> None:
    """Subscriber: of the messages appended at once, the last user turn gets its recall soon."""
    if event.kind != ChatChange.Kind.APPEND:
        return
    appended = Message.objects.for_owner(event.owner_id).filter(pk__in=event.message_ids)
    last = appended.filter(is_user=True, is_system=False).order_by("-index").values_list("pk", flat=True).first()
    if last is not None:
        recall_sent_turn.delay(owner_id=str(event.owner_id), chat_id=str(event.chat_id), message_id=str(last))
