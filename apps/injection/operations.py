"""The only writes to recalls."""

from typing import Any
from uuid import UUID

from django.db import transaction

from apps.chats.locking import lock_chat
from apps.common.problems import Missing
from apps.injection.models import Recall
from apps.injection.recall import Recollection
from apps.injection.turns import Turn
from apps.llm.tokens import count_tokens


@transaction.atomic
def store_recall(recollection: Recollection, *, over_edits: bool = False) -> Recall:
    """Keep what was recalled on its turn, which has been sent.

    A person's edit for the same text stays unless ``over_edits``. Raises Missing where the message is gone.
    """
    turn, fresh = recollection.turn, recall_row(recollection)
    message_id = _lock_turn(turn)
    row: Recall | None = Recall.objects.for_owner(turn.owner_id).filter(message=message_id).first()
    if row is None:
        fresh.save(force_insert=True)
        return fresh
    if row.edited and row.turn_hash == turn.hash and not over_edits:
        return row
    return _update(row, **undo_values(fresh))


def recall_row(recollection: Recollection) -> Recall:
    """What was recalled, as a row that isn't stored."""
    return Recall(
        owner_id=recollection.turn.owner_id,
        chat=recollection.turn.chat,
        message=recollection.turn.message,
        text=recollection.text,
        memories=recollection.documents(),
        tokens=count_tokens(recollection.text),
        turn_hash=recollection.turn.hash,
    )


def _lock_turn(turn: Turn) -> UUID:
    """The id of the turn's message, of which nothing can change until the transaction ends."""
    chat = lock_chat(turn.owner_id, turn.chat.pk)
    if turn.message is None or not chat.messages.filter(pk=turn.message.pk).exists():
        raise Missing("There is no such message in this chat.")
    return turn.message.pk


def mark_reused(row: Recall) -> Recall:
    """Note that the prompt took the stored recall, not a fresh one."""
    return row if row.source == Recall.Source.PERSISTENT else _update(row, source=Recall.Source.PERSISTENT)


def edit_recall(row: Recall, text: str, *, turn_hash: str) -> Recall:
    """A person's correction, for the turn's text as it is now; it is kept until they run the recall again."""
    return _update(row, text=text, tokens=count_tokens(text), edited=True, turn_hash=turn_hash)


def delete_recall(row: Recall) -> None:
    row.delete()


def _update(row: Recall, **values: Any) -> Recall:
    for name, value in values.items():
        setattr(row, name, value)
    row.save(update_fields=[*values, "updated_at"])
    return row


@transaction.atomic
def restore_recall(turn: Turn, values: dict[str, Any]) -> Recall:
    """Put a deleted recall back, unless the turn has one again. ``values`` are those of ``undo_values``."""
    message_id = _lock_turn(turn)
    rows = Recall.objects.for_owner(turn.owner_id)
    row: Recall | None = rows.filter(message=message_id).first()
    return row or Recall.objects.create(owner_id=turn.owner_id, chat=turn.chat, message_id=message_id, **values)


def undo_values(row: Recall) -> dict[str, Any]:
    """What ``restore_recall`` needs, as JSON."""
    names = ("text", "edited", "source", "memories", "tokens", "turn_hash")
    return {name: getattr(row, name) for name in names}
