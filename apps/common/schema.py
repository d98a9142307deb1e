"""What the OpenAPI document says of every call alike."""

from typing import Any

PROBLEM = {
    "type": "object",
    "description": "An error, RFC 9457.",
    "properties": {
        "type": {"type": "string", "format": "uri-reference", "example": "/problems/validation"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "What is wrong where: RFC 6901 pointers.",
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
    "description": "The same key and body again get the same reply again, and nothing is written twice.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
WRITES = {"post", "put", "patch", "delete"}


def describe_idempotency(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Give every write its Idempotency-Key; a hook of drf-spectacular."""
    for path in result["paths"].values():
        for method in path.keys() & WRITES:
            path[method].setdefault("parameters", []).append(IDEMPOTENCY_KEY)
    return result


def describe_problems(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Give every call its problem document as the default reply; a hook of drf-spectacular."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    reply = {
        "description": "A problem",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for path in result["paths"].values():
        for operation in path.values():
            operation["responses"]["default"] = reply
    return result
