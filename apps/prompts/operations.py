"""Make, store, edit, delete and restore recalls. Only ``message_recalls`` writes others, along with their messages."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.chats.dates import timestamp
from apps.chats.locking import lock_chat
from apps.chats.models import Chat, ChatChange, Message
from apps.chats.queries import access_chat, access_message
from apps.chats.queries.replying import reply_token_counter
from apps.chats.signals import ChatChanged
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.problems import Conflict, Invalid, Missing
from apps.common.scoping import Owner
from apps.prompts.filling.plan import slot_plan_for
from apps.prompts.models import Recall, is_for
from apps.prompts.retrieval.service import retrieve
from apps.prompts.settings.stores import prompt_settings_of
from apps.prompts.signals import recall_changed
from apps.prompts.turns import UserTurn, text_hash, turn_from_message
from apps.prompts.witnessing import speaker_or_default

UNDO_FIELDS = ("text", "edited", "deleted", "source", "memories", "left_out", "left_out_count", "tokens", "turn_hash")
KEPT_FIELDS = (
    *UNDO_FIELDS,
    "lore",
    "lookups",
    "rev",
    "versions",
)  # of one that is copied, or comes back with its message
MAX_VERSIONS = 10  # earlier texts of a recall that are kept


class RecallChanged(Conflict):
    """The recall has another text than the one that was edited."""

    title = _("The recall was changed meanwhile")

    def __init__(self, recall: Recall) -> None:
        super().__init__(
            gettext("The recall was changed elsewhere meanwhile. Save again to replace the text that it has now."),
            current_rev=recall.rev,
            current_text=recall.text,
        )


# Make a recall


def recall_turn(chat: Chat, message: Message, *, overwrite: bool = False) -> Recall:
    """Retrieve the memories that were active just before a user message, and store the recall.

    ``overwrite``: as for ``store_recall``. Raise Invalid if it isn't a user message, Missing if it was deleted.
    """
    if not message.is_user:
        raise Invalid(gettext("Only a message of the user has a recall."))
    turn = turn_from_message(chat, message)
    character = speaker_or_default(chat, None)
    plan = slot_plan_for(chat, character, turn.text, prompt_settings_of(chat))
    return store_recall(turn, retrieve(turn, character, plan).recall, overwrite=overwrite)


def rerun_recall(owner: Owner, chat_id: UUID, message_id: UUID) -> Recall:
    """Replace the recall of a message, even if the user edited or deleted it. Raise the errors of ``recall_turn``."""
    chat = access_chat(owner, chat_id)
    return recall_turn(chat, access_message(owner, chat_id, message_id), overwrite=True)


def ensure_recall(owner: Owner, chat_id: UUID, message_id: UUID) -> Recall:
    """Return the recall stored for the message's text, or edited, or make one. It is empty if the user deleted it.

    Raise the errors of ``recall_turn``.
    """
    chat = access_chat(owner, chat_id)
    message = access_message(owner, chat_id, message_id)
    recalls = Recall.objects.for_owner(owner).filter(is_for(turn_from_message(chat, message).hash), message=message)
    return recalls.select_related("message").first() or recall_turn(chat, message)


def recall_appended_turn(event: ChatChanged, **kwargs: Any) -> None:
    """Receive ``chat_committed``: make the recall of the last user message among those appended, if it still exists."""
    if event.kind != ChatChange.Kind.APPEND:
        return
    appended = Message.objects.for_owner(event.owner_id).filter(pk__in=event.message_ids)
    last = appended.filter(is_user=True, is_system=False).order_by("-index").values_list("pk", flat=True).first()
    if last is not None:
        with suppress(Missing):
            ensure_recall(event.owner_id, event.chat_id, last)


PENDING_RECALL = CompiledQuery(lambda owner, chat: Recall.objects.for_owner(owner).filter(chat=chat, message=None))


def adopt_recall(event: ChatChanged, **kwargs: Any) -> None:
    """Receive ``chat_changed``: give the recall of the text that is now appended to its message.

    If another user message is appended instead, delete the recall.
    """
    if event.kind != ChatChange.Kind.APPEND:
        return
    recall = PENDING_RECALL.first(event.owner_id, event.chat_id)
    if recall is None:
        return
    appended = Message.objects.for_owner(event.owner_id).filter(pk__in=event.message_ids, is_user=True)
    messages = list(appended.with_swipes().order_by("-index"))
    message = next((message for message in messages if text_hash(message.mes) == recall.turn_hash), None)
    if message:
        recall.message = message
        recall.save(update_fields=["message"])
    elif messages:
        recall.delete()


# Store and change a recall


@transaction.atomic
def store_recall(turn: UserTurn, new_recall: Recall, *, overwrite: bool = False) -> Recall:
    """Store the recall of a turn, also of one that is not yet appended: a chat has at most one of these.

    Without ``overwrite``, keep what the user edited, and for the same text what they deleted, or a text if the new one
    is empty. Raise Missing if the message was deleted.
    """
    message_id = lock_turn(turn)
    recall = LOCKED_RECALL.first(turn.owner_id, turn.chat.pk, message_id)
    if recall is None:
        new_recall.save(force_insert=True)
        return new_recall
    kept = recall.edited or recall.deleted or bool(recall.text and not new_recall.text)
    is_kept_edit = recall.edited and message_id is not None
    if kept and (is_kept_edit or recall.turn_hash == turn.hash) and not overwrite:
        return recall
    return _update(recall, **undo_values(new_recall))


LOCKED_RECALL = CompiledQuery(
    lambda owner, chat, message: Recall.objects.for_owner(owner).filter(chat=chat, message=message).select_for_update()
)


def mark_reused(recall: Recall) -> Recall:
    """Record that a prompt used the stored recall instead of a fresh one, if it still exists."""
    if recall.source != Recall.Source.PERSISTENT:
        with suppress(Missing):
            _update(recall, source=Recall.Source.PERSISTENT)
    return recall


@transaction.atomic
def edit_recall(recall: Recall, text: str, *, turn_hash: str, rev: int | None = None) -> Recall:
    """Replace the text of a recall and keep it until a re-run. ``turn_hash`` is of the turn's current text.

    ``rev`` is that of the text which was edited: raise RecallChanged if it isn't the current one. Without it, the last
    write wins. Raise Missing if the recall was deleted, with its message or alone.
    """
    tokens = reply_token_counter(recall.chat)(text)
    lock_chat(recall.owner_id, recall.chat_id)
    if Recall.objects.for_owner(recall.owner_id).filter(pk=recall.pk).exists():
        recall.refresh_from_db(fields=["text", "edited", "tokens", "rev", "versions"])
    if rev is not None and rev != recall.rev and text != recall.text:
        raise RecallChanged(recall)
    return _update(recall, text=text, tokens=tokens, edited=True, turn_hash=turn_hash)


@transaction.atomic
def store_lookups(turn: UserTurn, lookups: list[dict[str, Any]]) -> None:
    """Store what the model looked up itself for the reply to a turn that was sent. Raise Missing."""
    message_id = lock_turn(turn)
    recalls = Recall.objects.for_owner(turn.owner_id).filter(chat=turn.chat, message=message_id)
    if not recalls.update(lookups=lookups) and lookups:
        # Without a hash, the recall of the turn is still to be made: another reply must not reuse an empty one.
        Recall.objects.create(
            owner_id=turn.owner_id, chat=turn.chat, message_id=message_id, turn_hash="", lookups=lookups
        )


@transaction.atomic
def delete_recall(recall: Recall) -> None:
    """Empty a recall and mark it as deleted. Raise Missing if it was deleted meanwhile."""
    lock_chat(recall.owner_id, recall.chat_id)
    _update(recall, text="", memories=[], left_out=[], left_out_count=0, tokens=0, edited=False, deleted=True)


@transaction.atomic
def restore_recall(turn: UserTurn, values: dict[str, Any], *, replace: bool = False) -> Recall:
    """Restore a deleted recall from its ``undo_values``, or return the one made in the meantime.

    With ``replace``, that one is overwritten, unless the user edited it. Raise Missing if the message was deleted.
    """
    message_id = lock_turn(turn)
    recalls = Recall.objects.for_owner(turn.owner_id).filter(message=message_id)
    recall: Recall | None = recalls.select_for_update().first()
    if recall is None:
        raise Missing(gettext("There is no recall of this message any more."))
    is_replaced = recall.deleted or (replace and not recall.edited)
    return _update(recall, **values) if is_replaced else recall


def record_lore(turn: UserTurn, entries: list[dict[str, Any]]) -> None:
    """Store with a turn's recall which lorebook entries its last prompt had. A turn without a text has no recall."""
    recalls = Recall.objects.for_owner(turn.owner_id).filter(chat=turn.chat, message=turn.message)
    if recalls.exclude(lore=entries).update(lore=entries) or not entries or not turn.text:
        return
    with suppress(Missing), transaction.atomic():
        message_id = lock_turn(turn)
        if not recalls.exists():
            # Nothing could be recalled. Without a hash, the recall of the turn is still to be made.
            Recall.objects.create(
                owner_id=turn.owner_id, chat=turn.chat, message_id=message_id, turn_hash="", lore=entries
            )


def undo_values(recall: Recall) -> dict[str, Any]:
    """Return the values that ``restore_recall`` needs, as a JSON object."""
    return {name: getattr(recall, name) for name in UNDO_FIELDS}


def lock_turn(turn: UserTurn) -> UUID | None:
    """Lock the turn's chat until the transaction ends. Return the id of its message, if it has one. Raise Missing."""
    chat = lock_chat(turn.owner_id, turn.chat.pk)
    if turn.message is None:
        return None
    if not chat.messages.filter(pk=turn.message.pk).exists():
        raise Missing(gettext("There is no such message in this chat."))
    return turn.message.pk


def _versions_before(recall: Recall, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the earlier texts of a recall that gets new values: with its own if a person wrote or replaces it."""
    is_kept = recall.text and (recall.edited or values.get("edited") or values.get("deleted"))
    written = timestamp(recall.updated_at)
    own = {"rev": recall.rev, "text": recall.text, "edited": recall.edited, "tokens": recall.tokens, "at": written}
    return [own, *recall.versions][:MAX_VERSIONS] if is_kept else recall.versions


def _update(recall: Recall, **values: Any) -> Recall:
    """Change a stored recall, as it was read, and send ``recall_changed`` for a text. Raise Missing if it was deleted
    meanwhile.
    """
    stored = Recall.objects.for_owner(recall.owner_id).filter(pk=recall.pk, deleted=recall.deleted)
    values["updated_at"] = timezone.now()
    if "text" in values and (values["text"], values.get("edited")) != (recall.text, recall.edited):
        values |= {"rev": recall.rev + 1, "versions": _versions_before(recall, values)}
    for name, value in values.items():
        setattr(recall, name, value)
    if not stored.update(**values):
        raise Missing(gettext("There is no recall of this message any more."))
    if "text" in values and recall.message_id:
        recall_changed.send(sender=Recall, recall=recall)
    return recall
