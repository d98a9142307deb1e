"""Exceptions: one for each type of problem document (RFC 9457), and those without a document."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loci_client.requests import Reply
from loci_client.types import Change, Conflict, FieldError, Message


class LociError(Exception):
    """Any error of this package."""


class Unavailable(LociError):
    """No reply came before the retry policy gave up. A write may have been stored or not.

    ``key`` is its Idempotency-Key: repeating the call with this key is safe.
    """

    def __init__(self, detail: str, key: str | None = None) -> None:
        super().__init__(detail)
        self.key = key


class UnreadableReply(LociError):
    """The reply violates the protocol. Another server than Loci may have sent it."""


class UnknownMessage(LociError, LookupError):
    """The session does not know the message. Pass its document instead of its id, or use a replica."""


class ProblemError(LociError):
    """The server refused a request. ``document`` is its problem document."""

    def __init__(self, status: int, document: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        self.status = status
        self.document = document
        self.headers = headers
        self.type: str = document.get("type", "about:blank")
        self.title: str = document.get("title", "")
        self.detail: str = document.get("detail", "")
        super().__init__(f"{status} {self.title}: {self.detail}" if self.detail else f"{status} {self.title}")


class Invalid(ProblemError):
    """The request is invalid. ``errors`` name the fields and reasons."""

    @property
    def errors(self) -> list[FieldError]:
        errors: list[FieldError] = self.document.get("errors", [])
        return errors


class Unauthenticated(ProblemError):
    """The API token is missing or invalid."""


class Forbidden(ProblemError):
    """The API token does not allow the request."""


class NotFound(ProblemError):
    """The object does not exist, or belongs to another user."""


class ConflictError(ProblemError):
    """The request conflicts with the present state."""


class NothingToUndo(ConflictError):
    """The chat has no write that can be undone."""


class IntegrityConflict(ConflictError):
    """The chat or the settings were written since the state that the request names."""

    @property
    def current_integrity(self) -> str | None:
        return self.document.get("current_integrity")

    @property
    def current_rev(self) -> int | None:
        return self.document.get("current_rev")

    @property
    def changes(self) -> list[Change] | None:
        """Return the writes since then, or None if the server's log doesn't go back so far."""
        return self.document.get("changes")

    @property
    def conflicts(self) -> list[Conflict]:
        """Return what both sides changed, with its present state."""
        conflicts: list[Conflict] = self.document.get("conflicts", [])
        return conflicts


class UndoConflict(IntegrityConflict):
    """Another write changed again what the undo would restore, or the last write is another client's."""


class Gone(ProblemError):
    """The change log doesn't go back so far. Read the whole chat again."""


class TooLarge(ProblemError):
    """The request exceeds a size limit."""


class KeyReused(ProblemError):
    """A write with this Idempotency-Key is stored already, and its reply can't be given again."""


class IntegrityRequired(ProblemError):
    """The write must name an integrity."""


class Throttled(ProblemError):
    """The user sends too many requests, or has too many streams open."""


class ServerError(ProblemError):
    """The server failed (status 5xx)."""


# Errors that a later try may not meet.
PASSING = (Unavailable, Throttled, ServerError)

_BY_TYPE: dict[str, type[ProblemError]] = {
    "/problems/validation": Invalid,
    "/problems/integrity-conflict": IntegrityConflict,
    "/problems/nothing-to-undo": NothingToUndo,
    "/problems/undo-conflict": UndoConflict,
    "/problems/history-gone": Gone,
    "/problems/idempotency-key-reused": KeyReused,
    "/problems/integrity-required": IntegrityRequired,
}
_BY_STATUS: dict[int, type[ProblemError]] = {
    400: Invalid,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: ConflictError,
    410: Gone,
    413: TooLarge,
    428: IntegrityRequired,
    429: Throttled,
}


def error_of(reply: Reply) -> ProblemError:
    """Return the exception for a reply that is not a success."""
    document = _document(reply)
    fallback = ServerError if reply.status >= 500 else ProblemError
    kind = _BY_TYPE.get(document.get("type", "")) or _BY_STATUS.get(reply.status, fallback)
    return kind(reply.status, document, reply.headers)


def _document(reply: Reply) -> Mapping[str, Any]:
    try:
        document = json.loads(reply.content)
    except ValueError:
        document = None
    return document if isinstance(document, dict) else {"title": "The server refused"}


@dataclass(frozen=True)
class Clash:
    """A value that both sides changed.

    ``field`` is a JSON pointer into the message (``/mes``, ``/extra/mood``) or, if ``message_id`` is None, into the
    metadata. ``base`` is the value before, ``mine`` the value not stored, ``theirs`` the value stored now; each is None
    if there is no value. ``message`` is the present message, or None if it was deleted.
    """

    field: str
    base: Any
    mine: Any
    theirs: Any
    message_id: str | None = None
    message: Message | None = None


class EditConflict(LociError):
    """Both sides changed the same value. Nothing of the write was stored. ``clashes`` hold both versions.

    ``field``, ``base``, ``mine``, ``theirs``, ``message_id`` and ``message`` are those of the first clash.
    """

    def __init__(self, clashes: Sequence[Clash]) -> None:
        first = clashes[0]
        whose = f"message {first.message_id}" if first.message_id else "the metadata"
        super().__init__(f"{first.field} of {whose} was also changed by another client")
        self.clashes = tuple(clashes)
        self.field, self.base, self.mine, self.theirs = first.field, first.base, first.mine, first.theirs
        self.message_id, self.message = first.message_id, first.message
