"""Parse and format contradictions of facts: ``[contradiction:2] text``, or untagged lines. Without database access."""

import re
from dataclasses import dataclass
from itertools import islice

from apps.extraction.parsers.records import Line, ParsedLines, Record, has_lines, is_heading, iter_records, parse_lines
from apps.extraction.parsers.text_cleanup import clean_line

_TAG = re.compile(r"[*_`]*(?:contradictions?|conflicts?)[\s:=#*_`a-z]*(?P<number>\d{0,9}).*", re.IGNORECASE | re.DOTALL)
_FIRST_SENTENCE = re.compile(r"[^.!?\n。]*")
_PROBLEM = (
    r"(?:contradict(?:ion|ions|s)?|conflict(?:s|ing)?|inconsistenc(?:y|ies)|discrepanc(?:y|ies)|issues?|problems?)"
)
_ALL_CLEAR = re.compile(
    rf"\b(?:no|any|without|nothing|none)\b(?:\s+[\w’'-]+){{0,4}}?\s+{_PROBLEM}\b"
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
    """Contradiction in a reply; ``number`` identifies the contradicted fact, if given."""

    text: str
    number: int | None = None


def parse_contradictions(reply: str) -> ParsedLines[Contradiction]:
    """Parse contradictions. Never raise.

    If there are tagged lines, only these count; otherwise each line that is no heading, unless the first one says
    that nothing is contradicted.
    """
    tagged = parse_lines(reply, _parse_tagged)
    if tagged.items:
        return tagged
    untagged = parse_lines(reply, _parse_untagged)
    clear = any(is_all_clear(item.text) for item in untagged.items[:1])
    if not clear:
        return ParsedLines([item for item in untagged.items if not is_all_clear(item.text)], untagged.unused)
    return ParsedLines([], [*(item.text for item in untagged.items[1:]), *untagged.unused])


def is_check(reply: str) -> bool:
    """Return whether a reply has a tagged line, a JSON object, or says that nothing is contradicted.

    Any other text may be about anything, for instance an opinion of the story.
    """
    return has_lines(reply) or any(is_all_clear(record.text) for record in islice(iter_records(reply), 1))


def is_all_clear(text: str) -> bool:
    """Return whether the first sentence of a text says that nothing is contradicted."""
    match = _FIRST_SENTENCE.match(text)
    first = match[0] if match else ""
    return bool(_ALL_CLEAR.search(first)) and not _NOT_CONSISTENT.search(first) and not _BUT.search(first)


def _parse_tagged(record: Record) -> Contradiction | None:
    match = _TAG.fullmatch(record.tag or "")
    text = clean_line(record.text)
    if match is None or not text or is_all_clear(text):
        return None
    return Contradiction(text, int(match["number"]) if match["number"] else None)


def _parse_untagged(record: Record) -> Contradiction | None:
    if record.tag is not None or is_heading(Line("", record.line, record.line)) or record.line.endswith((":", "：")):
        return None
    text = clean_line(record.text)
    return Contradiction(text) if text else None


def format_contradiction(item: Contradiction) -> str:
    """Return ``item`` formatted so that ``parse_contradictions`` reads it back."""
    number = "" if item.number is None else f":{item.number}"
    return f"[contradiction{number}] {clean_line(item.text)}"
