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
