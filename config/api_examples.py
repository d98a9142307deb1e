"""Examples of the main calls in the OpenAPI document: what is sent, and what comes back."""

import json
from functools import cache
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).with_suffix(".json")
JSON = "application/json"


@cache
def examples() -> list[dict[str, Any]]:
    """Return the calls in the order of a story, in which each uses what those before it made."""
    calls: list[dict[str, Any]] = json.loads(EXAMPLES.read_text())
    return calls


def add_examples(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add the examples to the operations of the document."""
    for call in examples():
        operation = result["paths"][call["path"]][call["method"]]
        given = call.get("values", {}) | call.get("query", {})
        for parameter in operation.get("parameters", []):
            if parameter["name"] in given:
                parameter["example"] = given[parameter["name"]]
        if "request" in call:
            operation["requestBody"]["content"][JSON]["example"] = call["request"]
        if "response" in call:
            operation["responses"][str(call["status"])]["content"][JSON]["example"] = call["response"]
    return result
