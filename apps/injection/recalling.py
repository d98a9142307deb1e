"""Makes the recall of a turn that has been sent."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from apps.chats.models import Chat, ChatChange, Message
from apps.chats.queries import access_chat, access_message
from apps.chats.signals import ChatChanged
from apps.common.problems import Invalid, Missing
from apps.common.scoping import Owner
from apps.injection.models import Recall
from apps.injection.operations import store_recall
from apps.injection.recall import recall
from apps.injection.slots import BUDGETS
from apps.injection.turn_class import adapted_budgets, classify
from apps.injection.turns import turn_of


def recall_turn(chat: Chat, message: Message, *, over_edits: bool = False) -> Recall:
    """Recall for a user's turn as of just before it, and keep it; a person's edit stays unless ``over_edits``.

    Raises Invalid where it isn't the user's turn, Missing where it is gone.
    """
    if not message.is_user:
        raise Invalid("Only what the user said has a recall.")
    turn = turn_of(chat, message)
    budgets = adapted_budgets(classify(turn.text), BUDGETS)
    return store_recall(recall(turn, chat.character, budgets), over_edits=over_edits)


def rerun_recall(owner: Owner, chat_id: UUID, message_id: UUID) -> Recall:
    """Recall anew, edits or not. Raises as ``recall_turn``."""
    chat = access_chat(owner, chat_id)
    return recall_turn(chat, access_message(owner, chat_id, message_id), over_edits=True)


def ensure_recall(owner: Owner, chat_id: UUID, message_id: UUID) -> Recall:
    """The recall that the turn's text has, made if it has none. Raises as ``recall_turn``."""
    chat = access_chat(owner, chat_id)
    message = access_message(owner, chat_id, message_id)
    rows = Recall.objects.for_owner(owner).filter(message=message, turn_hash=turn_of(chat, message).hash)
    return rows.select_related("message").first() or recall_turn(chat, message)


def recall_when_sent(event: ChatChanged, **kwargs: Any) -> None:
    """Compute the recall for the last user turn among appended messages, unless it was deleted since."""
    if event.kind != ChatChange.Kind.APPEND:
        return
    appended = Message.objects.for_owner(event.owner_id).filter(pk__in=event.message_ids)
    last = appended.filter(is_user=True, is_system=False).order_by("-index").values_list("pk", flat=True).first()
    if last is not None:
        with suppress(Missing):
            ensure_recall(event.owner_id, event.chat_id, last)
