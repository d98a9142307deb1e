"""JSON Patch (RFC 6902): validation of operations, and their application to a copy of a document."""

import copy
import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from jsonpatch import JsonPatch, JsonPatchException, JsonPatchTestFailed
from jsonpointer import EndOfList, JsonPointer, JsonPointerException

from apps.common.documents.strict_json import MAX_DEPTH, storage_errors
from apps.common.problems import Conflict, FieldError, Invalid, ProblemType

MAX_OPERATIONS = 1000
MAX_REASON_LENGTH = 200  # the library's messages quote whole documents
MEMBERS_BY_OPERATION = {
    "add": ("path", "value"),
    "remove": ("path",),
    "replace": ("path", "value"),
    "move": ("from", "path"),
    "copy": ("from", "path"),
    "test": ("path", "value"),
}


class PatchTestFailed(Conflict):
    """The value at the path of a ``test`` operation differs."""

    type = ProblemType.PATCH_TEST_FAILED
    title = "A test of the patch failed"


def apply(document: Any, operations: Sequence[Any], *, max_copied: int, at: str = "/operations") -> Any:
    """Return a copy of ``document`` with all ``operations`` applied.

    ``copy`` operations may add ``max_copied`` bytes of JSON in total, so that a short patch can't create a huge
    document. Raise Invalid or PatchTestFailed with a pointer to the operation, which begins with ``at``.
    """
    check_syntax(operations, at)
    result, allowance = copy.deepcopy(document), max_copied
    for index, operation in enumerate(operations):
        location = f"{at}/{index}"
        try:
            allowance -= _copied_bytes(result, operation)
            if allowance < 0:
                raise Invalid.at(f"{location}/from", f"The operations copy more than {max_copied} bytes.")
            result = _apply_one(result, operation, location)
        except RecursionError:
            raise Invalid.at(location, "It would nest the document too deeply.") from None
    error = next(storage_errors(result), None)
    if error is not None:
        raise Invalid.at(at, f"The result can't be stored: {error.pointer}: {error.detail}")
    return result


def check_syntax(operations: Sequence[Any], at: str = "/operations") -> None:
    """Check the syntax of operations. Raise Invalid."""
    if len(operations) > MAX_OPERATIONS:
        raise Invalid.at(at, f"A patch has at most {MAX_OPERATIONS} operations.")
    for index, operation in enumerate(operations):
        _check_operation(operation, f"{at}/{index}")


def parts_of(pointer: str) -> list[str]:
    """Return the unescaped keys and indexes of an RFC 6901 pointer; an empty list for the whole document."""
    return list(JsonPointer(pointer).parts)


def pointers_of(operation: Mapping[str, Any]) -> dict[str, str]:
    """Return the pointers of an operation by member name: ``path``, and ``from`` if it has one."""
    return {member: operation[member] for member in MEMBERS_BY_OPERATION[operation["op"]] if member != "value"}


def _check_operation(operation: Any, location: str) -> None:
    if not isinstance(operation, dict):
        raise Invalid.at(location, "It must be an object.")
    op = operation.get("op")
    if not isinstance(op, str) or op not in MEMBERS_BY_OPERATION:
        raise Invalid.at(f"{location}/op", f"It must be one of {', '.join(MEMBERS_BY_OPERATION)}.")
    for member in MEMBERS_BY_OPERATION[op]:
        if member not in operation:
            raise Invalid.at(f"{location}/{member}", f"The operation {op} needs it.")
    for member, pointer in pointers_of(operation).items():
        _check_pointer(pointer, f"{location}/{member}")


def _check_pointer(pointer: Any, location: str) -> None:
    try:
        parts = parts_of(pointer)
    except (JsonPointerException, TypeError):
        raise Invalid.at(location, "It must be a JSON Pointer (RFC 6901).") from None
    if len(parts) > MAX_DEPTH:
        raise Invalid.at(location, f"It is more than {MAX_DEPTH} levels deep.")


def _copied_bytes(document: Any, operation: Mapping[str, Any]) -> int:
    """Return the size in bytes of the value that a ``copy`` operation adds; 0 for other operations."""
    if operation["op"] != "copy" or not _exists(document, operation["from"]):
        return 0
    return len(json.dumps(JsonPointer(operation["from"]).resolve(document), ensure_ascii=False).encode())


def _apply_one(document: Any, operation: Mapping[str, Any], location: str) -> Any:
    try:
        return JsonPatch([operation]).apply(document, in_place=True)
    except JsonPatchTestFailed:
        path = f"{location}/path"
        reason = "The value differs." if _exists(document, operation["path"]) else "There is no value."
        raise PatchTestFailed(f"{path}: {reason}", errors=[FieldError(path, reason)]) from None
    except (JsonPatchException, JsonPointerException) as error:
        no_source = "from" in pointers_of(operation) and not _exists(document, operation["from"])
        raise Invalid.at(
            f"{location}/{'from' if no_source else 'path'}", textwrap.shorten(str(error), MAX_REASON_LENGTH)
        ) from None


def _exists(document: Any, pointer: str) -> bool:
    """Return whether the document has a value at ``pointer``."""
    try:
        return not isinstance(JsonPointer(pointer).resolve(document), EndOfList)
    except JsonPointerException:
        return False
