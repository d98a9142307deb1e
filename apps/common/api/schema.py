"""Postprocessing hooks of drf-spectacular, which complete every operation of the OpenAPI document."""

from typing import Any

from drf_spectacular.plumbing import get_lib_doc_excludes

from apps.common.api.serializer_fields import StrictSerializer
from apps.common.problems import ProblemType

PROBLEM_SCHEMA = {
    "type": "object",
    "description": "An error (RFC 9457).",
    "properties": {
        "type": {
            "type": "string",
            "format": "uri-reference",
            "description": f"What clients compare. One of: {', '.join(f'`{known}`' for known in ProblemType)}.",
            "example": "/problems/validation",
        },
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "The location of each error, as an RFC 6901 pointer, and its reason.",
            "items": {
                "type": "object",
                "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
                "required": ["pointer", "detail"],
            },
        },
        "current_integrity": {
            "type": "string",
            "format": "uuid",
            "description": "The integrity of the state as it is now.",
        },
        "current_rev": {"type": "integer", "description": "The rev of that state."},
        "changes": {
            "type": "array",
            "description": "The changes since the integrity that was sent, as `changes/` returns them.",
            "items": {"type": "object", "additionalProperties": True},
        },
        "conflicts": {
            "type": "array",
            "description": "What was changed since: `id` of a message or `key`, and `theirs`, null if it is gone.",
            "items": {"type": "object", "additionalProperties": True},
        },
        "reread": {"type": "boolean", "description": "True: changes or conflicts are left out, being too large."},
    },
    "required": ["type", "title", "status"],
    "additionalProperties": True,
}
IDEMPOTENCY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A request repeated with the same key and body gets the stored response, or a 422 once that is "
    "dropped. Nothing is written twice. Deleting a chat or a namespace for good drops the responses that may hold its "
    "texts.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
PREFER_PARAMETER = {
    "name": "Prefer",
    "in": "header",
    "description": "With `return=minimal`, the reply to a write that succeeds has integrity, rev and ids alone.",
    "schema": {"type": "string", "example": "return=minimal"},
}
WRITE_METHODS = {"post", "put", "patch", "delete"}


def undescribed_classes() -> list[type]:
    """Return the classes whose docstrings describe no subclass in the document."""
    return [*get_lib_doc_excludes(), StrictSerializer]


def describe_write_headers(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add the headers Idempotency-Key and Prefer to every write."""
    for path in result["paths"].values():
        for method in path.keys() & WRITE_METHODS:
            path[method].setdefault("parameters", []).extend([IDEMPOTENCY_PARAMETER, PREFER_PARAMETER])
    return result


def describe_problems(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add the problem document as the default response of every operation."""
    result["components"]["schemas"]["Problem"] = PROBLEM_SCHEMA
    response = {
        "description": "A problem",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for path in result["paths"].values():
        for operation in path.values():
            operation["responses"]["default"] = response
    return result
