"""What can go wrong: the server's problem documents (RFC 9457), each kind an exception, and what has no document."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loci_client.requests import Reply
from loci_client.types import Change, Conflict, FieldError, Message


class LociError(Exception):
    """Any error of this package."""


class Unavailable(LociError):
    """No answer came, for as long as the retry policy allows. A write may have been stored or not.

    ``key`` is the Idempotency-Key that it went out with: the same call with the same key is safe to repeat.
    """

    def __init__(self, detail: str, key: str | None = None) -> None:
        super().__init__(detail)
        self.key = key


class UnreadableReply(LociError):
    """The reply is not what the protocol says; something else than Loci may have answered."""


class UnknownMessage(LociError, LookupError):
    """The session does not hold this message: give its document instead of its id, or open it with a replica."""


class ProblemError(LociError):
    """The server refused a request. ``document`` is what it said."""

    def __init__(self, status: int, document: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        self.status = status
        self.document = document
        self.headers = headers
        self.type: str = document.get("type", "about:blank")
        self.title: str = document.get("title", "")
        self.detail: str = document.get("detail", "")
        super().__init__(f"{status} {self.title}: {self.detail}" if self.detail else f"{status} {self.title}")


class Invalid(ProblemError):
    """The request can't be used as it is; ``errors`` say where and why."""

    @property
    def errors(self) -> list[FieldError]:
        found: list[FieldError] = self.document.get("errors", [])
        return found


class Unauthenticated(ProblemError):
    pass


class Forbidden(ProblemError):
    pass


class NotFound(ProblemError):
    pass


class ConflictError(ProblemError):
    pass


class NothingToUndo(ConflictError):
    pass


class IntegrityConflict(ConflictError):
    """The chat, or the settings, were written since the state that the request names."""

    @property
    def current_integrity(self) -> str | None:
        return self.document.get("current_integrity")

    @property
    def current_rev(self) -> int | None:
        return self.document.get("current_rev")

    @property
    def changes(self) -> list[Change] | None:
        """What was written since; None where the server's log does not reach back that far."""
        return self.document.get("changes")

    @property
    def conflicts(self) -> list[Conflict]:
        """What was changed by both, with the state it has now."""
        found: list[Conflict] = self.document.get("conflicts", [])
        return found


class Gone(ProblemError):
    """The change log does not reach back that far: read the chat anew."""


class TooLarge(ProblemError):
    pass


class KeyReused(ProblemError):
    """The Idempotency-Key was used for another request."""


class IntegrityRequired(ProblemError):
    pass


class Throttled(ProblemError):
    pass


class ServerError(ProblemError):
    pass


# What a later try may well get past.
PASSING = (Unavailable, Throttled, ServerError)

_BY_TYPE: dict[str, type[ProblemError]] = {
    "/problems/validation": Invalid,
    "/problems/integrity-conflict": IntegrityConflict,
    "/problems/nothing-to-undo": NothingToUndo,
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
    """The exception for a reply that is not a success."""
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
    """One place that both sides changed.

    ``field`` is a pointer into the message (``/mes``, ``/extra/mood``) or the metadata; ``message_id`` is None for
    metadata. ``base`` is what both began with, ``mine`` what could not be stored, ``theirs`` what is stored now;
    each is None where there is none. ``message`` is the message as it is now, None where it was deleted.
    """

    field: str
    base: Any
    mine: Any
    theirs: Any
    message_id: str | None = None
    message: Message | None = None


class EditConflict(LociError):
    """The same place was changed by both sides. Nothing of the write was stored; ``clashes`` hold both versions.

    ``field``, ``base``, ``mine``, ``theirs``, ``message_id`` and ``message`` are those of the first clash.
    """

    def __init__(self, clashes: Sequence[Clash]) -> None:
        first = clashes[0]
        whose = f"message {first.message_id}" if first.message_id else "the metadata"
        super().__init__(f"{first.field} of {whose} was changed by somebody else, too")
        self.clashes = tuple(clashes)
        self.field, self.base, self.mine, self.theirs = first.field, first.base, first.mine, first.theirs
        self.message_id, self.message = first.message_id, first.message
