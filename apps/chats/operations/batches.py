"""A batch of patches over a locked chat, applied in memory: what they name, what they change, and the new order."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from apps.chats.formats.parsed import ParsedMessage
from apps.chats.models import Chat, Message, Swipe
from apps.chats.operations.storing import dated, message_row, order_of, speakers_of, swipe_rows
from apps.chats.patches import Draft, Patch
from apps.chats.queries import Changes
from apps.common.problems import Conflict, Invalid


class Disagreement(Conflict):
    """The id and the index of a patch name different messages."""

    type = "/problems/integrity-conflict"
    title = "The id and the index disagree"


class Batch:
    """``patches`` applied in their order. ``since`` is what was written after the state that the client knew.

    Raises Invalid where a patch names no message or doesn't fit it, Disagreement.
    """

    def __init__(self, chat: Chat, patches: Sequence[Patch], since: Changes | None = None) -> None:
        self.chat = chat
        self.inserted: dict[UUID, tuple[Message, list[Swipe]]] = {}
        self.deleted: dict[UUID, Draft] = {}
        self.lost: list[UUID] = []  # named, but deleted by somebody else
        self.late: set[UUID] = set()  # not at the rev that their patch names
        self.named: set[UUID] = set()  # by patches that have an effect
        self.applied_count = 0
        self._since = since
        self._order: list[UUID] | None = None
        self._drafts = {message.pk: Draft(message) for message in _load(chat, patches)}
        self._by_index = {draft.message.index: draft for draft in self._drafts.values()}
        for n, patch in enumerate(patches):
            self._apply(patch, f"/patches/{n}")

    @property
    def changed(self) -> list[Draft]:
        """The drafts to be saved; those deleted are not among them."""
        return [draft for pk, draft in self._drafts.items() if pk not in self.deleted and draft.is_changed]

    @property
    def has_effect(self) -> bool:
        return self.applied_count > 0

    @property
    def targets(self) -> list[Message]:
        return [draft.message for draft in self._drafts.values()]

    @property
    def order(self) -> list[UUID] | None:
        """All ids of the chat in their new order; None where the order stays."""
        return self._order

    @property
    def images_before(self) -> list[dict[str, object]]:
        return [draft.before for draft in (*self.changed, *self.deleted.values())]

    def _apply(self, patch: Patch, at: str) -> None:
        draft = self._find(patch, at)
        if draft is None:
            return
        try:
            has_effect = self._apply_to(draft, patch, at)
        except Invalid:
            # A patch for another rev need not fit this one.
            if not self._is_late(draft, patch):
                raise
            has_effect = True
        if has_effect:
            self.applied_count += 1
            self.named.add(draft.message.pk)
            if self._is_late(draft, patch):
                self.late.add(draft.message.pk)

    @staticmethod
    def _is_late(draft: Draft, patch: Patch) -> bool:
        return patch.if_rev not in (None, draft.message.rev)

    def _find(self, patch: Patch, at: str) -> Draft | None:
        """The draft that a patch names; None where somebody else deleted it."""
        if patch.id is None:
            return self._find_by_index(patch, at)
        draft = self._drafts.get(patch.id)
        if draft is None:
            self._note_missing(patch, at)
        elif patch.id in self.deleted:
            raise Invalid.at(f"{at}/id", "An earlier patch of this batch deletes the message.")
        elif patch.index not in (None, draft.message.index):
            detail = f"{at}: this message has the index {draft.message.index}, not {patch.index}."
            raise Disagreement(detail, current_integrity=str(self.chat.integrity), current_rev=self.chat.rev)
        return draft

    def _find_by_index(self, patch: Patch, at: str) -> Draft:
        assert patch.index is not None
        draft = self._by_index.get(patch.index)
        if draft is None:
            raise Invalid.at(f"{at}/index", f"The chat has {self.chat.message_count} messages.")
        if self._since and any(entry.reordered for entry in self._since.entries):
            raise Invalid.at(f"{at}/index", "Indexes have changed since. Name the message by id.")
        if draft.message.pk in self.deleted:
            raise Invalid.at(f"{at}/index", "An earlier patch of this batch deletes the message.")
        return draft

    def _note_missing(self, patch: Patch, at: str) -> None:
        assert patch.id is not None
        if self._since is None or patch.id not in self._since.deleted_ids:
            raise Invalid.at(f"{at}/id", "There is no such message in this chat.")
        if not patch.delete:
            self.lost.append(patch.id)

    def _apply_to(self, draft: Draft, patch: Patch, at: str) -> bool:
        """Whether the patch changed anything."""
        if patch.delete:
            self._delete(draft)
            return True
        known, draft.is_changed = draft.is_changed, False
        draft.apply(patch, at)
        if patch.insert_before is not None:
            self._insert(patch.insert_before, draft)
        if patch.move_to is not None:
            self._move(draft, patch.move_to, at)
        has_effect = draft.is_changed or patch.insert_before is not None
        draft.is_changed |= known
        return has_effect

    def _places(self) -> list[UUID]:
        if self._order is None:
            self._order = order_of(self.chat)
        return self._order

    def _delete(self, draft: Draft) -> None:
        self.deleted[draft.message.pk] = draft
        self._places().remove(draft.message.pk)

    def _insert(self, parsed: ParsedMessage, anchor: Draft) -> None:
        parsed = dated(parsed)
        row = message_row(self.chat, 0, parsed, speakers_of(self.chat))
        self.inserted[row.pk] = row, swipe_rows(row, parsed)
        places = self._places()
        places.insert(places.index(anchor.message.pk), row.pk)

    def _move(self, draft: Draft, index: int, at: str) -> None:
        places = self._places()
        if index >= len(places):
            raise Invalid.at(f"{at}/move_to", f"The chat has {len(places)} messages.")
        if places[index] != draft.message.pk:
            places.remove(draft.message.pk)
            places.insert(index, draft.message.pk)
            draft.is_changed = True


def _load(chat: Chat, patches: Iterable[Patch]) -> list[Message]:
    """The messages that the patches name, each once."""
    ids = {patch.id for patch in patches if patch.id}
    indexes = {patch.index for patch in patches if patch.id is None}
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat).with_swipes()
    found = list(rows.filter(pk__in=ids)) if ids else []
    indexes -= {message.index for message in found}
    return found + (list(rows.filter(index__in=indexes)) if indexes else [])
