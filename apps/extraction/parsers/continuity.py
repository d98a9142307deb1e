"""What contradicts the facts: ``[contradiction:2] text``, or a free line each. Pure."""

import re
from dataclasses import dataclass

from apps.extraction.parsers.plain import sentence
from apps.extraction.parsers.records import Line, Reading, Record, is_heading, read

_TAG = re.compile(r"[*_`]*(?:contradictions?|conflicts?)[\s:=#*_`a-z]*(?P<number>\d{0,9}).*", re.IGNORECASE | re.DOTALL)
_FIRST_SENTENCE = re.compile(r"[^.!?\n。]*")
_TROUBLE = (
    r"(?:contradict(?:ion|ions|s)?|conflict(?:s|ing)?|inconsistenc(?:y|ies)|discrepanc(?:y|ies)|issues?|problems?)"
)
_ALL_CLEAR = re.compile(
    rf"\b(?:no|any|without|nothing|none)\b(?:\s+[\w’'-]+){{0,4}}?\s+{_TROUBLE}\b"
    r"|\b(?:does|do|did)(?:\s+not|n['’]t)\s+(?:\w+\s+)?(?:contradict|conflict)"
    r"|\bconsistent(?:\s+with\b|\W*$)"
    r"|\baligns?\s+with\b",
    re.IGNORECASE,
)
_NOT_CONSISTENT = re.compile(r"(?:\b(?:not|never)|n['’]t)\s+(?:\w+\s+){0,2}(?:consistent|align)", re.IGNORECASE)
_BUT = re.compile(
    r"\b(?:but|however|except|although|though|yet|while|whereas|says?|said|claims?|states)\b|;", re.IGNORECASE
)


@dataclass(frozen=True)
class Contradiction:
    """What a reply says against a fact; ``number`` is the fact's, where the line names it."""

    text: str
    number: int | None = None


def parse_contradictions(reply: str) -> Reading[Contradiction]:
    """Read contradictions. Never raises. A reply that begins by saying that there are none holds none.

    Where there are tagged lines, only they count; otherwise each line that is no heading.
    """
    tagged = read(reply, _tagged)
    if tagged.items:
        return tagged
    free = read(reply, _free)
    clear = any(is_all_clear(item.text) for item in free.items[:1])
    if not clear:
        return Reading([item for item in free.items if not is_all_clear(item.text)], free.unused)
    return Reading([], [*(item.text for item in free.items[1:]), *free.unused])


def is_all_clear(text: str) -> bool:
    """Whether the first sentence says that nothing is contradicted."""
    match = _FIRST_SENTENCE.match(text)
    first = match[0] if match else ""
    return bool(_ALL_CLEAR.search(first)) and not _NOT_CONSISTENT.search(first) and not _BUT.search(first)


def _tagged(record: Record) -> Contradiction | None:
    match = _TAG.fullmatch(record.tag or "")
    text = sentence(record.text)
    if match is None or not text or is_all_clear(text):
        return None
    return Contradiction(text, int(match["number"]) if match["number"] else None)


def _free(record: Record) -> Contradiction | None:
    if record.tag is not None or is_heading(Line("", record.line, record.line)) or record.line.endswith((":", "：")):
        return None
    text = sentence(record.text)
    return Contradiction(text) if text else None


def print_contradiction(item: Contradiction) -> str:
    """The line that reads as ``item`` again."""
    number = "" if item.number is None else f":{item.number}"
    return f"[contradiction{number}] {sentence(item.text)}"
