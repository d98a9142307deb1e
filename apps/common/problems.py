"""Errors that the product raises, each with its RFC 9457 problem document."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

MAX_ERRORS = 100  # that a reply tells; whoever makes more has seen enough


@dataclass(frozen=True)
class FieldError:
    """What is wrong with one place of a document: an RFC 6901 pointer and a sentence."""

    pointer: str
    detail: str


class Problem(Exception):
    """An error with a reply of its own. ``extra`` becomes further members of the document."""

    status = 400
    type = "about:blank"
    title = "Bad request"

    def __init__(self, detail: str, *, errors: Iterable[FieldError] = (), **extra: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = list(errors)
        self.extra = extra

    @property
    def headers(self) -> dict[str, str]:
        return {}

    def document(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "type": self.type,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if self.errors:
            body["errors"] = [{"pointer": error.pointer, "detail": error.detail} for error in self.errors[:MAX_ERRORS]]
        return body | self.extra


class Invalid(Problem):
    """The document can't be used as it is; ``errors`` say where and why."""

    type = "/problems/validation"
    title = "The request is not valid"

    @classmethod
    def at(cls, pointer: str, detail: str) -> Self:
        return cls(detail, errors=[FieldError(pointer, detail)])


class Missing(Problem):
    status = 404
    type = "/problems/not-found"
    title = "Not found"


class Conflict(Problem):
    status = 409
    type = "/problems/conflict"
    title = "Conflict"


class TooLarge(Problem):
    status = 413
    type = "/problems/too-large"
    title = "Too large"


def pointer_of(path: Iterable[str | int]) -> str:
    """The RFC 6901 pointer of a path of keys and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
