"""Apply patches to the messages of a locked chat, in memory, and save the order that they leave."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.models import Chat, Message, Swipe
from apps.chats.operations.drafts import Draft
from apps.chats.operations.patches import Patch
from apps.chats.queries.changes import Changes, was_deleted
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.problems import Conflict, Invalid, ProblemType


class TargetMismatch(Conflict):
    """The id and the index of a patch name different messages."""

    type = ProblemType.INTEGRITY_CONFLICT
    title = "The id and the index disagree"


class Batch:
    """A batch of patches, applied in their order, written by ``instance``.

    ``since`` are the changes after the state that the client knows, or None. Raise TargetMismatch, and
    Invalid if a patch names no message or doesn't fit it.
    """

    def __init__(
        self, chat: Chat, patches: Sequence[Patch], since: Changes | None = None, *, instance: str = ""
    ) -> None:
        self.chat = chat
        self.instance = instance
        self.inserted: dict[UUID, tuple[Message, list[Swipe]]] = {}
        self.deleted: dict[UUID, Draft] = {}
        self.missing_ids: list[UUID] = []  # named by a patch, but deleted in the meantime
        self.stale_ids: set[UUID] = set()  # not at the rev that their patch names
        self.touched_ids: set[UUID] = set()  # named by patches that have an effect
        self.moved_ids: set[UUID] = set()  # moved to another index
        self.applied_count = 0
        self.order: list[UUID] | None = None  # all ids of the chat; None if the order is unchanged
        self._since = since
        self._drafts = _load_drafts(chat, patches, instance)
        self._by_index = {draft.message.index: draft for draft in self._drafts.values()}
        for number, patch in enumerate(patches):
            self._apply(patch, f"/patches/{number}")

    @property
    def changed(self) -> list[Draft]:
        """Return the drafts to save, without deleted messages."""
        return [draft for pk, draft in self._drafts.items() if pk not in self.deleted and draft.is_changed]

    @property
    def targets(self) -> list[Message]:
        return [draft.message for draft in self._drafts.values()]

    @property
    def removed_swipe_ids(self) -> set[UUID]:
        """Return the ids of stored swipes that are deleted, alone or with their message."""
        alone = {pk for draft in self.changed for pk in draft.removed_swipe_ids}
        return alone | {pk for draft in self.deleted.values() for pk in draft.stored_swipe_ids}

    def states_before(self) -> list[dict[str, Any]]:
        """Return the stored states of the messages that the batch changes or deletes."""
        return [draft.before for draft in (*self.changed, *self.deleted.values())]

    def _apply(self, patch: Patch, pointer: str) -> None:
        draft = self._find(patch, pointer)
        if draft is None:
            return
        is_stale = patch.if_rev not in (None, draft.message.rev)
        try:
            has_effect = self._apply_to(draft, patch, pointer)
        except Invalid:
            # A patch for another rev may not fit this one. That is a conflict, not an invalid request.
            if not is_stale:
                raise
            has_effect = True
        if has_effect:
            self.applied_count += 1
            self.touched_ids.add(draft.message.pk)
            if is_stale:
                self.stale_ids.add(draft.message.pk)

    def _find(self, patch: Patch, pointer: str) -> Draft | None:
        """Return the draft that a patch names, or None if the message is deleted, or was in the meantime."""
        if patch.id is None:
            return self._find_by_index(patch, pointer)
        draft = self._drafts.get(patch.id)
        if draft is None:
            if patch.delete and was_deleted(self.chat, patch.id):
                return None
            if self._since is None or patch.id not in self._since.deleted_ids:
                raise Invalid.at(f"{pointer}/id", "There is no such message in this chat.")
            self.missing_ids.append(patch.id)
        elif patch.id in self.deleted:
            if patch.delete:
                return None
            raise Invalid.at(f"{pointer}/id", "An earlier patch of this batch deletes the message.")
        elif patch.index not in (None, draft.message.index):
            detail = f"{pointer}: this message has the index {draft.message.index}, not {patch.index}."
            raise TargetMismatch(detail, current_integrity=str(self.chat.integrity), current_rev=self.chat.rev)
        return draft

    def _find_by_index(self, patch: Patch, pointer: str) -> Draft:
        assert patch.index is not None
        draft = self._by_index.get(patch.index)
        if draft is None:
            raise Invalid.at(f"{pointer}/index", f"The chat has {self.chat.message_count} messages.")
        if self._since and self._since.reordered:
            raise Invalid.at(f"{pointer}/index", "Indexes have changed in the meantime. Identify the message by id.")
        if draft.message.pk in self.deleted:
            raise Invalid.at(f"{pointer}/index", "An earlier patch of this batch deletes the message.")
        return draft

    def _apply_to(self, draft: Draft, patch: Patch, pointer: str) -> bool:
        """Apply a patch. Return whether it changed anything."""
        if patch.delete:
            self.deleted[draft.message.pk] = draft
            self._editable_order().remove(draft.message.pk)
            return True
        has_effect = draft.apply(patch, pointer)
        if patch.insert_before is not None:
            self._insert(patch.insert_before, draft)
            has_effect = True
        if patch.move_to is not None:
            has_effect |= self._move(draft, patch.move_to, pointer)
        return has_effect

    def _editable_order(self) -> list[UUID]:
        if self.order is None:
            self.order = ordered_ids(self.chat)
        return self.order

    def _insert(self, parsed: ParsedMessage, anchor: Draft) -> None:
        parsed = parsed.dated()
        # The index is set when the new order is saved.
        row = Message.of(self.chat, 0, parsed, self.chat.participant_ids())
        self.inserted[row.pk] = row, row.swipes_of(parsed, self.instance)
        order = self._editable_order()
        order.insert(order.index(anchor.message.pk), row.pk)

    def _move(self, draft: Draft, index: int, pointer: str) -> bool:
        """Move a message. Return True unless it is at ``index`` already.

        After a reordering the index names another place than the client meant, even if the message is there by now,
        unless it was moved itself, as by a retry of the same patch.
        """
        order, pk = self._editable_order(), draft.message.pk
        since = self._since
        is_in_place = since is None or not since.reordered or pk in since.message_ids
        if index >= len(order):
            raise Invalid.at(f"{pointer}/move_to", f"The chat has {len(order)} messages.")
        if order[index] == pk and is_in_place:
            return False
        order.remove(pk)
        order.insert(index, pk)
        draft.is_changed = True
        self.moved_ids.add(pk)
        return True


def _with_messages(owner: Any, chat: Any, **condition: Any) -> QuerySet[Swipe]:
    """Return the swipes that meet a condition, with their messages; those of one message by position."""
    rows = Swipe.objects.for_owner(owner).filter(message__chat=chat, **condition)
    return rows.select_related("message").order_by("position")


SWIPES_BY_ID = CompiledQuery(lambda owner, chat, ids: _with_messages(owner, chat, message__id__any=ids))
SWIPES_BY_INDEX = CompiledQuery(lambda owner, chat, indexes: _with_messages(owner, chat, message__index__any=indexes))


def _load_drafts(chat: Chat, patches: Collection[Patch], instance: str) -> dict[UUID, Draft]:
    """Return a draft of each message that the patches name, by id."""
    ids = {patch.id for patch in patches if patch.id}
    indexes = {patch.index for patch in patches if patch.id is None and patch.index is not None}
    rows: list[Swipe] = []
    # One query for each way to name a message: a single one, with OR, would read all messages of the chat.
    if ids:
        rows += SWIPES_BY_ID.rows(chat.owner_id, chat.pk, list(ids))
    if indexes:
        rows += SWIPES_BY_INDEX.rows(chat.owner_id, chat.pk, list(indexes))
    groups = defaultdict(list)
    for swipe in {row.pk: row for row in rows}.values():
        groups[swipe.message_id].append(swipe)
    return {pk: Draft(group[0].message, group, instance) for pk, group in groups.items()}


def ordered_ids(chat: Chat) -> list[UUID]:
    """Return the ids of all messages of a locked chat, by index."""
    messages = Message.objects.for_owner(chat.owner_id).filter(chat=chat)
    return list(messages.order_by("index").values_list("pk", flat=True))


def save_order(chat: Chat, order: Sequence[UUID]) -> None:
    """Give every message of a locked chat the index that it has in ``order``."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE chats_message SET index = target.index - 1
            FROM unnest(%s::uuid[]) WITH ORDINALITY AS target (id, index)
            WHERE chats_message.id = target.id AND chats_message.chat_id = %s
              AND chats_message.index <> target.index - 1
            """,
            [list(order), chat.pk],
        )
