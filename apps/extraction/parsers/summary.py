"""The rolling summary: ``[SUMMARY] … [/SUMMARY]`` around nine numbered sections. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.extraction.parsers.plain import plain, without_html
from apps.extraction.parsers.prose import cut, paragraphs

SECTIONS = {
    1: "Scene and setting",
    2: "Who is present",
    3: "Key events",
    4: "Relationships",
    5: "What was revealed",
    6: "Open threads",
    7: "What the user wants",
    8: "The current moment",
    9: "What comes next",
}
MAX_SUMMARY = 20_000  # characters
MAX_SECTION = 4000
_INDENT = "   "  # of the further lines of a section, so that lists in it aren't taken for sections
_ANALYSIS = re.compile(r"<\s?(?P<close>/?)\s?analysis\s?>", re.IGNORECASE)
_MARKER = re.compile(r"[*_`]{0,3}[\[<［【]\s?(?P<close>/?)\s?summary\s?[\]>］】][*_`]{0,3}", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t>]*(?:```|~~~)\w*[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^(?:> ?)?(?:#{1,6} +)?[*_]{0,2}(?P<number>[1-9])[.)](?=[\s*_]|$)", re.MULTILINE)
_LABEL = re.compile(r"\s*(?P<label>(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)|[^:.\n]{1,60})(?P<end>:[*_]{0,2}|[ \t]*\n|\Z|)")


@dataclass(frozen=True)
class Summary:
    """``text`` is all of it; ``sections`` are its parts by number, none where the text has none."""

    sections: dict[int, str] = field(default_factory=dict)
    text: str = ""


def parse_summary(reply: str) -> Summary:
    """Read a summary. Never raises; a reply with neither the tags nor a first section holds none.

    A missing closing tag is tolerated. An analysis before the summary is no part of it, closed or not.
    """
    text = _FENCE.sub("", _without_analysis(plain(reply)))
    body = _between_markers(text)
    if body is None:
        first = next((match for match in _HEADING.finditer(text) if match["number"] == "1"), None)
        body = text[first.start() :] if first else ""
    body = without_html(body).strip()
    return Summary(_sections(body), cut(_tidy(body), MAX_SUMMARY))


def _without_analysis(text: str) -> str:
    """The text without what stands between analysis tags; one that is never closed ends with the summary's tag."""
    kept: list[str] = []
    begins, inside = 0, False
    for match in _ANALYSIS.finditer(text):
        if not inside and not match["close"]:
            kept.append(text[begins : match.start()])
        inside, begins = not match["close"], match.end()
    rest = text[begins:]
    marker = _MARKER.search(rest) if inside else None
    kept.append(rest if not inside else rest[marker.start() :] if marker else "")
    return "".join(kept)


def _between_markers(text: str) -> str | None:
    """The longest text that follows an opening tag, up to the next tag; None without one."""
    markers = list(_MARKER.finditer(text))
    ends = [*(match.start() for match in markers[1:]), len(text)][: len(markers)]
    bodies = [text[match.end() : end] for match, end in zip(markers, ends, strict=True) if not match["close"]]
    return max(bodies, key=len, default=None)


def _sections(text: str) -> dict[int, str]:
    """The sections in rising order. What is numbered with a number that came already belongs to the section before."""
    headings: list[re.Match[str]] = []
    for match in _HEADING.finditer(text):
        if not headings or int(match["number"]) > int(headings[-1]["number"]):
            headings.append(match)
    ends = [*(match.start() for match in headings[1:]), len(text)][: len(headings)]
    found = {
        int(match["number"]): _section(int(match["number"]), text[match.end() : end])
        for match, end in zip(headings, ends, strict=True)
    }
    return {number: section for number, section in found.items() if section}


def _section(number: int, text: str) -> str:
    """A section's text without its name, or a name in bold."""
    match = _LABEL.match(text)
    label = match["label"].strip("*_ \t").rstrip(":").lower() if match else ""
    if match and (label == SECTIONS[number].lower() or match["label"].startswith(("**", "__"))):
        text = text[match.end() :].removeprefix("**").removeprefix("__").lstrip(": \t")
    return cut(paragraphs(text), MAX_SECTION)


def _tidy(text: str) -> str:
    """The text with its lines, those of lists and sections too, and no more than one blank line between them."""
    lines = (line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def print_summary(sections: Mapping[int, str]) -> str:
    """The text that reads as these sections again."""
    lines = [f"{number}. {SECTIONS[number]}: {_indented(text)}" for number, text in sorted(sections.items())]
    return "\n".join(["[SUMMARY]", *lines, "[/SUMMARY]"])


def _indented(text: str) -> str:
    return without_html(plain(text)).strip().replace("\n", f"\n{_INDENT}")
