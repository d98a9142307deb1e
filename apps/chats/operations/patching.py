"""Change messages of a chat by patches: all of a batch, or none."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.chats.locking import (
    Guard,
    IntegrityConflict,
    PatchConflict,
    find_repeated_change,
    fingerprint_of_write,
    lock_chat,
    messages_of_change,
    record_change,
)
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.models import Chat, ChatChange, Message, Swipe
from apps.chats.operations.drafts import Draft, load_drafts
from apps.chats.operations.messages import new_message, ordered_ids, save_order
from apps.chats.operations.patches import Patch
from apps.chats.queries.changes import Changes, HistoryGone, changes_since, rev_of, was_deleted
from apps.chats.quotas import require_room_for_messages
from apps.chats.restorable_rows import saved_rows
from apps.common.problems import Conflict, Invalid, ProblemType
from apps.common.scoping import Owner


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
        self._drafts = load_drafts(chat, patches, instance)
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
        row, swipes = new_message(self.chat, 0, parsed, self.chat.participant_ids(), self.instance)
        self.inserted[row.pk] = row, swipes
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


@dataclass(frozen=True)
class PatchResult:
    """The result of a batch: numbers of applied and skipped patches, and messages added or changed, by index."""

    chat: Chat
    messages: list[Message] = field(default_factory=list)
    skipped: int = 0
    applied: int = 0


@transaction.atomic
def patch_messages(owner: Owner, chat_id: UUID, patches: Sequence[Patch], guard: Guard) -> PatchResult:
    """Change messages: all of the patches, or none.

    Skip patches that are in effect already, and the retry of a batch that was stored. Raise IntegrityRequired,
    IntegrityConflict, PatchConflict, Missing, and Invalid if a patch names no message or doesn't fit it.
    """
    chat = lock_chat(owner, chat_id, guard)
    guard.require_integrity()
    fingerprint = fingerprint_of_write(ChatChange.Kind.PATCH, guard, patches)
    if repeated := find_repeated_change(chat, guard, fingerprint):
        return PatchResult(chat, messages_of_change(chat, repeated), skipped=len(patches))
    if guard.is_stale(chat):
        batch = _rebased_batch(chat, patches, guard)
    else:
        batch = Batch(chat, patches, instance=guard.instance)
    if batch.stale_ids:
        detail = "These messages are not at the rev that the patch names."
        raise PatchConflict.for_messages(chat, guard, batch.stale_ids, detail)
    if not batch.applied_count:
        return PatchResult(chat, batch.targets, skipped=len(patches))
    before: dict[str, Any] = {"messages": batch.states_before()}
    if gone := batch.removed_swipe_ids:
        before["attachments"] = saved_rows(chat, list(batch.deleted), gone)
    messages = _save_batch(chat, batch)
    chat.last_active = timezone.now()
    record_change(
        chat,
        ChatChange.Kind.PATCH,
        guard=guard,
        messages=messages,
        deleted_ids=list(batch.deleted),
        before=before,
        reordered=batch.order is not None,
        fingerprint=fingerprint,
    )
    return PatchResult(chat, messages, skipped=len(patches) - batch.applied_count, applied=batch.applied_count)


def _rebased_batch(chat: Chat, patches: Sequence[Patch], guard: Guard) -> Batch:
    """Apply patches to a chat that has changed since the known state.

    They must be in effect already or, if the guard allows a rebase, name no message that changed in the meantime.
    Raise IntegrityConflict, PatchConflict.
    """
    assert guard.integrity is not None
    known_rev = rev_of(chat, guard.integrity)
    if known_rev is None:
        raise IntegrityConflict.for_chat(chat, guard)
    try:
        since = changes_since(chat, known_rev)
    except HistoryGone:  # such as a change of the whole chat, which names no messages
        raise IntegrityConflict.for_chat(chat, guard) from None
    try:
        batch = Batch(chat, patches, since, instance=guard.instance)
    except Invalid as invalid:
        # The patches may fit the state that the client knows, so this is a conflict, not an error of the client.
        raise IntegrityConflict.for_chat(chat, guard) from invalid
    if batch.applied_count or batch.missing_ids:
        _check_rebase(chat, guard, batch, since)
    return batch


def _check_rebase(chat: Chat, guard: Guard, batch: Batch, since: Changes) -> None:
    if not guard.rebase:
        raise IntegrityConflict.for_chat(chat, guard)
    contested = batch.touched_ids & since.message_ids | set(batch.missing_ids)
    if since.reordered:
        contested |= batch.moved_ids  # to an index, which named another place then
    if contested:
        detail = "These messages have changed in the meantime."
        raise PatchConflict.for_messages(chat, guard, contested, detail)


def _save_batch(chat: Chat, batch: Batch) -> list[Message]:
    """Save all that the batch changed. Return the messages added or changed, by index."""
    inserted = [message for message, _ in batch.inserted.values()]
    for draft in batch.changed:
        draft.save()
    if batch.deleted:
        Message.objects.for_owner(chat.owner_id).filter(pk__in=batch.deleted).delete()
    if batch.order is not None and len(batch.order) > chat.message_count:
        require_room_for_messages(chat, len(batch.order) - chat.message_count)
    if inserted:
        Message.objects.bulk_create(inserted)
        Swipe.objects.bulk_create([swipe for _, swipes in batch.inserted.values() for swipe in swipes])
    messages = [draft.message for draft in batch.changed] + inserted
    if batch.order is not None:
        chat.message_count = len(batch.order)
        save_order(chat, batch.order)
        index_of = {pk: index for index, pk in enumerate(batch.order)}
        for message in messages:
            message.index = index_of[message.pk]
    return sorted(messages, key=lambda message: message.index)
