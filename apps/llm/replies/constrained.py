"""Replies whose form a server enforces while the model writes: JSON with lines that match a pattern.

Servers constrain what a model writes by a JSON schema; llama.cpp and those built on it make a grammar of it. The lines
are those that the prompt asks for anyway, so that they are read in the same way whether a server constrains them.

Patterns begin with ``^`` and end with ``$``, have no escapes such as ``\\d``, and allow neither ``"`` nor ``\\`` within
a line: llama.cpp puts them between quotation marks as they are. Without database access.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

NAME = "lines"
INSTRUCTION = (
    'Give the lines as JSON, {"lines": ["...", "..."]}: each line is a text of its own, without " and \\ in it. '
    'Where you would write NONE, give {"lines": []}.'
)
# Fields of a request by which a person may have constrained replies already. Servers refuse two of them at once.
FIELDS = frozenset(
    {
        *("response_format", "format", "grammar", "json_schema", "structured_outputs"),
        *("guided_json", "guided_regex", "guided_choice", "guided_grammar", "tools"),
    }
)
TEST_PATTERN = r"^\[(ready|busy):[123]\] [^\"\\]+$"
_BEGINNING = re.compile(rf'\s*(?:```\w*\s*)?\{{\s*"{NAME}"\s*:\s*\[')
_GAP = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder(strict=False)  # some grammars let line ends into a text


def schema_of(pattern: str) -> dict[str, Any]:
    """Return the JSON schema of a reply whose lines match a pattern, in the subset that all servers know."""
    return {
        "type": "object",
        "properties": {NAME: {"type": "array", "items": {"type": "string", "pattern": pattern}}},
        "required": [NAME],
        "additionalProperties": False,
    }


def sets_own_form(extra_body: Mapping[str, Any]) -> bool:
    """Return whether what a person adds to requests constrains replies in another way."""
    return not FIELDS.isdisjoint(extra_body)


def lines_in(reply: str) -> list[str] | None:
    """Return the lines of a reply in JSON; of one that was cut off, the whole ones. None for a reply in another form.

    A reply that ends before its first line, such as one that goes on with white space, is in another form.
    """
    if not (beginning := _BEGINNING.match(reply)):
        return None
    lines: list[str] = []
    position = beginning.end()
    while True:
        position = _skip(reply, position)
        if reply[position : position + 1] == "]":
            return lines
        try:
            line, position = _DECODER.raw_decode(reply, position)
        except ValueError:
            return lines or None
        if not isinstance(line, str):
            return None
        lines += [" ".join(line.split())] if line.strip() else []


def keeps_to(pattern: str, reply: str, *, is_cut_off: bool) -> bool:
    """Return whether a server has constrained a reply: it is JSON, and its lines match the pattern.

    Of a reply that was cut off, perhaps within its first line, what there is has to.
    """
    if lines := lines_in(reply):
        return all(re.search(pattern, line) for line in lines)
    if not is_cut_off or not (beginning := _BEGINNING.match(reply)):
        return False
    first = reply[beginning.end() :].lstrip()
    return first.startswith('"[') and bool(re.search(pattern, first[1:].rstrip("\\")))


def _skip(text: str, position: int) -> int:
    gap = _GAP.match(text, position)
    return gap.end() if gap else position
