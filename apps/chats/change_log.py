"""Read the log of writes to a chat."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from apps.chats.models import Chat, ChatChange, Message
from apps.common.problems import Problem, ProblemType

# Writes that store a whole chat. Their log entries list no messages.
WHOLE_CHAT_KINDS = {ChatChange.Kind.IMPORT, ChatChange.Kind.BRANCH}


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


def rev_of(chat: Chat, integrity: UUID) -> int | None:
    """Return the rev of the state named by ``integrity``, or None if the log does not hold it."""
    if chat.integrity == integrity:
        return chat.rev
    return chat.changes.filter(integrity=integrity).values_list("rev", flat=True).first()


def changes_since(chat: Chat, rev: int) -> Changes:
    """Return the changes after ``rev``. Raise HistoryGone if the log does not hold all of them."""
    entries = list(chat.changes.filter(rev__gt=rev).order_by("rev"))
    is_complete = len(entries) == chat.rev - rev and rev >= 0
    if not is_complete or any(entry.kind in WHOLE_CHAT_KINDS for entry in entries):
        raise HistoryGone("Read the whole chat again.", current_integrity=str(chat.integrity), current_rev=chat.rev)
    return Changes(chat, entries)
