"""Hooks of drf-spectacular that add to every operation of the OpenAPI document."""

from typing import Any

PROBLEM = {
    "type": "object",
    "description": "An error (RFC 9457).",
    "properties": {
        "type": {"type": "string", "format": "uri-reference", "example": "/problems/validation"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "Errors by place, as RFC 6901 pointers.",
            "items": {
                "type": "object",
                "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
                "required": ["pointer", "detail"],
            },
        },
    },
    "required": ["type", "title", "status"],
    "additionalProperties": True,
}
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A repeated request with the same key and body gets the stored reply, and nothing is written twice.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
WRITES = {"post", "put", "patch", "delete"}


def describe_idempotency(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add the Idempotency-Key header to every write."""
    for path in result["paths"].values():
        for method in path.keys() & WRITES:
            path[method].setdefault("parameters", []).append(IDEMPOTENCY_KEY)
    return result


def describe_problems(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add the problem document as the default response of every operation."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    reply = {
        "description": "A problem",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for path in result["paths"].values():
        for operation in path.values():
            operation["responses"]["default"] = reply
    return result
