"""Exceptions that become problem documents (RFC 9457) in responses, and the list of all problem types."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from django.utils.translation import gettext_lazy as _

from apps.common.words import Words

MAX_ERRORS = 100  # listed in one response


class ProblemType(StrEnum):
    """URI of every type of problem that the API reports. Never change one: clients compare them."""

    UNSPECIFIED = "about:blank"
    BAD_REQUEST = "/problems/bad-request"
    VALIDATION = "/problems/validation"
    NOT_AUTHENTICATED = "/problems/not-authenticated"
    FORBIDDEN = "/problems/forbidden"
    SUSPENDED = "/problems/suspended"
    NOT_FOUND = "/problems/not-found"
    METHOD_NOT_ALLOWED = "/problems/method-not-allowed"
    NOT_ACCEPTABLE = "/problems/not-acceptable"
    CONFLICT = "/problems/conflict"
    TOO_LARGE = "/problems/too-large"
    UNSUPPORTED_MEDIA_TYPE = "/problems/unsupported-media-type"
    THROTTLED = "/problems/throttled"
    INTERNAL_ERROR = "/problems/internal-error"
    UNAVAILABLE = "/problems/unavailable"
    DISK_FULL = "/problems/disk-full"
    PATCH_TEST_FAILED = "/problems/patch-test-failed"
    INTEGRITY_REQUIRED = "/problems/integrity-required"
    INTEGRITY_CONFLICT = "/problems/integrity-conflict"
    HISTORY_GONE = "/problems/history-gone"
    NOTHING_TO_UNDO = "/problems/nothing-to-undo"
    UNDO_CONFLICT = "/problems/undo-conflict"
    NAME_TAKEN = "/problems/name-taken"
    QUOTA_EXCEEDED = "/problems/quota-exceeded"
    TOO_MANY_STREAMS = "/problems/too-many-streams"
    IDEMPOTENCY_KEY_REUSED = "/problems/idempotency-key-reused"
    GENERATION_FAILED = "/problems/generation-failed"
    TOKEN_LIMIT_REACHED = "/problems/token-limit-reached"  # noqa: S105


@dataclass(frozen=True)
class FieldError:
    """Error at one location of a document, given as an RFC 6901 pointer."""

    pointer: str
    detail: str

    @property
    def sentence(self) -> str:
        """Return the detail with the name of the location where it only says "It"."""
        name = self.pointer.removeprefix("/") or "The body"
        return f"{name} {self.detail[3:]}" if self.detail.startswith("It ") else self.detail


class Problem(Exception):
    """Exception that is returned as a problem document. ``extra`` are further members of the document."""

    status = 400
    type = ProblemType.UNSPECIFIED
    title: Words = _("Bad request")

    def __init__(self, detail: str, *, errors: Iterable[FieldError] = (), **extra: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = list(errors)
        self.extra = extra

    @property
    def headers(self) -> dict[str, str]:
        """Return additional headers of the response."""
        return {}

    def document(self) -> dict[str, Any]:
        """Return the problem document."""
        repeats_first = bool(self.errors) and self.errors[0].detail == self.detail
        body: dict[str, Any] = {
            "type": str(self.type),
            "title": str(self.title),
            "status": self.status,
            "detail": self.errors[0].sentence if repeats_first else self.detail,
        }
        if self.errors:
            body["errors"] = [{"pointer": error.pointer, "detail": error.detail} for error in self.errors[:MAX_ERRORS]]
        return body | self.extra


class Invalid(Problem):
    """The request is not valid; ``errors`` give locations and reasons."""

    type = ProblemType.VALIDATION
    title = _("The request is not valid")

    @classmethod
    def at(cls, pointer: str, detail: str) -> Self:
        """Return a problem with one error, at ``pointer``."""
        return cls(detail, errors=[FieldError(pointer, detail)])


class Missing(Problem):
    """The resource does not exist, or belongs to another owner."""

    status = 404
    type = ProblemType.NOT_FOUND
    title: Words = _("Not found")


class Conflict(Problem):
    """The state of the resource does not allow the change."""

    status = 409
    type = ProblemType.CONFLICT
    title: Words = _("Conflict")


class TooLarge(Problem):
    """The content exceeds a size limit."""

    status = 413
    type = ProblemType.TOO_LARGE
    title: Words = _("Too large")


def pointer_of(path: Iterable[str | int]) -> str:
    """Return the RFC 6901 pointer of a path of keys and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
