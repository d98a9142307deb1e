"""The optimistic lock of a chat: what a client says of the state it knew, and the errors when it is behind."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from apps.chats.models import Chat
from apps.chats.queries import HistoryGone, changes_since, rev_of
from apps.chats.wire import change_documents
from apps.common.problems import Conflict, Problem


@dataclass(frozen=True)
class Guard:
    """``integrity`` names the state that the client knew. With ``rebase`` the write goes through where nothing
    that it touches has changed since; with ``force`` it goes through unchecked."""

    integrity: UUID | None = None
    rebase: bool = False
    force: bool = False

    def is_stale(self, chat: Chat) -> bool:
        return not self.force and self.integrity is not None and self.integrity != chat.integrity


class IntegrityRequired(Problem):
    status = 428
    type = "/problems/integrity-required"
    title = "The integrity of the chat is required"

    def __init__(self) -> None:
        super().__init__('Send the "integrity" that you know, or "force": true.')


class IntegrityConflict(Conflict):
    """The chat has been written since. Holds the changes, as far as the log does."""

    type = "/problems/integrity-conflict"
    title = "The chat has changed"

    @classmethod
    def over(cls, chat: Chat, guard: Guard) -> Self:
        state: dict[str, Any] = {"current_integrity": str(chat.integrity), "current_rev": chat.rev}
        known = None if guard.integrity is None else rev_of(chat, guard.integrity)
        if known is not None:
            with suppress(HistoryGone):
                state["changes"] = change_documents(changes_since(chat, known))
        return cls("The chat was written by somebody else since. Apply the changes and try again.", **state)


class PatchConflict(Conflict):
    """Something that the write touches was changed since the state that the client knew."""

    type = "/problems/integrity-conflict"
    title = "The same thing was changed by somebody else"

    @classmethod
    def between(cls, chat: Chat, conflicts: Iterable[dict[str, Any]], detail: str) -> Self:
        return cls(
            detail,
            conflicts=list(conflicts),
            current_integrity=str(chat.integrity),
            current_rev=chat.rev,
        )
