"""Read the log of writes to a chat."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from django.db.models import F, Func, IntegerField, Q, Sum, TextField
from django.db.models.functions import Cast, Coalesce

from apps.chats.models import Chat, ChatChange, Message, Swipe
from apps.common.problems import Problem, ProblemType

# Writes that store a whole chat. Their log entries list no messages.
WHOLE_CHAT_KINDS = {ChatChange.Kind.IMPORT, ChatChange.Kind.BRANCH}


PAGE_BYTES = 1_000_000  # of the changes or the conflicts in one reply
# Approximate sizes as JSON, without texts and metadata
ENTRY_BYTES, MESSAGE_BYTES, ID_BYTES = 250, 500, 40


class OctetLength(Func):
    function = "octet_length"
    output_field = IntegerField()


class HistoryGone(Problem):
    """The change log does not reach back to the state that the client names."""

    status = 410
    type = ProblemType.HISTORY_GONE
    title = "The change log does not reach back that far"


@dataclass(frozen=True)
class Changes:
    """Log entries of ``chat``, oldest first."""

    chat: Chat
    entries: list[ChatChange]

    @cached_property
    def messages(self) -> dict[UUID, Message]:
        """Return the added or changed messages that still exist, in their current state, by id."""
        rows = Message.objects.for_owner(self.chat.owner_id).filter(chat=self.chat, pk__in=self.message_ids)
        return {message.pk: message for message in rows.with_swipes()}

    @cached_property
    def message_ids(self) -> set[UUID]:
        return {pk for entry in self.entries for pk in entry.message_ids}

    @cached_property
    def deleted_ids(self) -> set[UUID]:
        return {pk for entry in self.entries for pk in entry.deleted_ids}

    def changed_keys(self, keys: Collection[str] | None) -> set[str]:
        """Return the metadata keys, of ``keys`` or None for all, that the entries changed."""
        entries = [entry for entry in self.entries if entry.metadata is not None]
        changed = {key for entry in entries for key in entry.metadata}
        if keys is None:
            return changed
        # A change that replaced all metadata may have changed, or removed, any key.
        return set(keys) if any(entry.metadata_replaced for entry in entries) else changed & set(keys)

    @property
    def reordered(self) -> bool:
        """Return whether indexes of messages that the entries don't list changed too."""
        return any(entry.reordered for entry in self.entries)


@dataclass(frozen=True)
class Page:
    """Changes up to the rev ``last``. ``is_whole`` if they are all and not larger than PAGE_BYTES."""

    changes: Changes
    last: int
    is_whole: bool


def rev_of(chat: Chat, integrity: UUID) -> int | None:
    """Return the rev of the state named by ``integrity``, or None if the log does not hold it."""
    if chat.integrity == integrity:
        return chat.rev
    return chat.changes.filter(integrity=integrity).values_list("rev", flat=True).first()


def was_deleted(chat: Chat, message_id: UUID) -> bool:
    """Return whether the log tells of the deletion of a message of the chat."""
    return chat.changes.filter(deleted_ids__contains=[message_id]).exists()


def changes_since(chat: Chat, rev: int) -> Changes:
    """Return the changes after ``rev``. Raise HistoryGone if the log does not hold all of them."""
    entries = list(chat.changes.filter(rev__gt=rev).defer("before").order_by("rev"))
    _check_complete(chat, rev, [entry.kind for entry in entries])
    return Changes(chat, entries)


def page_of_changes(chat: Chat, rev: int) -> Page:
    """Return the changes after ``rev``, at least one, as far as a reply holds them. Raise HistoryGone.

    Sizes are measured by the database, so that no more is loaded than is sent.
    """
    metadata_size = Coalesce(OctetLength(Cast("metadata", TextField())), 0)
    rows = chat.changes.filter(rev__gt=rev).order_by("rev").annotate(size=metadata_size)
    entries = list(rows.values_list("rev", "kind", "size", "message_ids", "deleted_ids"))
    _check_complete(chat, rev, [kind for _, kind, *_ in entries])
    sizes = message_sizes(chat, {pk for *_, message_ids, _ in entries for pk in message_ids})
    last, total, counted = rev, 0, set[UUID]()
    for entry_rev, _, size, message_ids, deleted_ids in entries:
        size += ENTRY_BYTES + ID_BYTES * len(deleted_ids)
        size += sum(sizes.get(pk, 0) for pk in set(message_ids) - counted)
        if last > rev and total + size > PAGE_BYTES:
            break
        last, total = entry_rev, total + size
        counted.update(message_ids)
    page = chat.changes.filter(rev__gt=rev, rev__lte=last).defer("before").order_by("rev")
    return Page(Changes(chat, list(page)), last, is_whole=last == chat.rev and total <= PAGE_BYTES)


def _check_complete(chat: Chat, rev: int, kinds: Collection[str]) -> None:
    """Raise HistoryGone unless ``kinds`` are of all changes after ``rev``, and none stored a whole chat."""
    if len(kinds) != chat.rev - rev or rev < 0 or not WHOLE_CHAT_KINDS.isdisjoint(kinds):
        raise HistoryGone("Read the whole chat again.", current_integrity=str(chat.integrity), current_rev=chat.rev)


def message_sizes(chat: Chat, message_ids: Collection[UUID]) -> dict[UUID, int]:
    """Return the approximate size in bytes of each message as JSON, which repeats the active swipe."""
    swipes = Swipe.objects.for_owner(chat.owner_id).filter(message__chat=chat, message__in=message_ids)
    size = OctetLength("mes") + sum(OctetLength(Cast(field, TextField())) for field in ("extra", "info"))
    active = Sum(size + OctetLength("message__layout"), filter=Q(position=F("message__swipe_id")))
    return dict(swipes.values_list("message").annotate(size=Sum(size) + active + MESSAGE_BYTES))
