"""The optimistic lock of a chat: what a client says of the state it knew, and the errors when it is behind."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from apps.chats.models import Chat, Message
from apps.chats.queries import HistoryGone, changes_since, rev_of
from apps.chats.wire import change_documents, message_document
from apps.common.problems import Conflict, Problem


@dataclass(frozen=True)
class Guard:
    """``integrity`` names the state that the client knew. With ``rebase`` the write goes through where nothing
    that it touches has changed since; with ``force`` it goes through unchecked. ``optional`` says of a kind of
    write that it may come without an integrity, ``keyed`` that retries of this one are known by their key."""

    integrity: UUID | None = None
    rebase: bool = False
    force: bool = False
    optional: bool = False
    keyed: bool = False

    def check(self) -> None:
        """Raises IntegrityRequired."""
        if self.integrity is None and not self.force and not self.optional:
            raise IntegrityRequired

    def is_stale(self, chat: Chat) -> bool:
        return not self.force and self.integrity is not None and self.integrity != chat.integrity


class IntegrityRequired(Problem):
    status = 428
    type = "/problems/integrity-required"
    title = "An integrity is required"

    def __init__(self) -> None:
        super().__init__('Send the "integrity" that you know, or "force": true.')


class IntegrityConflict(Conflict):
    """The chat has been written since. Holds the changes, as far as the log does."""

    type = "/problems/integrity-conflict"
    title = "The chat has changed"

    @classmethod
    def over(cls, chat: Chat, guard: Guard) -> Self:
        detail = "The chat was written by somebody else since. Apply the changes and try again."
        return cls(detail, **_current(chat, guard))


class PatchConflict(Conflict):
    """Something that the write touches was changed since the state that the client knew."""

    type = "/problems/integrity-conflict"
    title = "The same thing was changed by somebody else"

    @classmethod
    def over(
        cls, chat: Chat, guard: Guard, message_ids: Iterable[UUID], detail: str, *, gone: Iterable[UUID] = ()
    ) -> Self:
        """Over messages, told as they are now, and over those that are ``gone``."""
        rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk__in=list(message_ids))
        messages = rows.with_swipes().order_by("index")
        theirs: list[dict[str, Any]] = [
            {"id": str(message.pk), "theirs": message_document(message)} for message in messages
        ]
        theirs += [{"id": str(pk), "theirs": None} for pk in gone]
        return cls(detail, conflicts=theirs, **_current(chat, guard))

    @classmethod
    def over_keys(cls, chat: Chat, guard: Guard, theirs: Mapping[str, Any]) -> Self:
        """Over keys of the metadata, with their values now; a key that is gone has null."""
        conflicts = [{"key": key, "theirs": value} for key, value in theirs.items()]
        return cls("These keys were changed since.", conflicts=conflicts, **_current(chat, guard))


def _current(chat: Chat, guard: Guard) -> dict[str, Any]:
    """The state of the chat, and what led to it from the state that the client knew."""
    state: dict[str, Any] = {"current_integrity": str(chat.integrity), "current_rev": chat.rev}
    known = None if guard.integrity is None else rev_of(chat, guard.integrity)
    if known is not None:
        with suppress(HistoryGone):
            state["changes"] = change_documents(changes_since(chat, known))
    return state
