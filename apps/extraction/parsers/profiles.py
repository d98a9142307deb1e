"""The three sections of a profile, between tags such as ``<character_state>``. Pure."""

import re
from dataclasses import dataclass

from apps.extraction.parsers.plain import plain, without_html
from apps.extraction.parsers.prose import cut, paragraphs

SECTIONS = ("character_state", "world_state", "relationship_matrix")
MAX_SECTION = 4000  # characters
_TITLE = r"(?P<{}>(?:character|world)[ _-]?state|relationships?[ _-]?matrix)"
_TAG = rf"[<\[]\s?(?P<close>/?)\s?{_TITLE.format('tag')}\s?[>\]]"
_HEADING = (
    rf"^[ \t]*(?:#{{1,6}}[ \t]+|\d[.)][ \t]+)?[*_]{{0,2}}{_TITLE.format('heading')}[*_]{{0,2}}[ \t]*(?::[*_]{{0,2}}|$)"
)
_BOUNDARY = re.compile(f"{_TAG}|{_HEADING}", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"^[ \t>]*(?:```|~~~)\w*[ \t]*$", re.MULTILINE)
_EMPTY = frozenset({"", "none", "n/a", "unknown"})


@dataclass(frozen=True)
class Profile:
    """How somebody is, how their world is, and how they stand to the others; "" where the reply says nothing of it."""

    character_state: str = ""
    world_state: str = ""
    relationship_matrix: str = ""


def parse_profiles(reply: str) -> Profile | None:
    """Read a profile; None where all of its sections are missing. Never raises.

    A section ends with its closing tag or where the next begins; headings do for tags. The longest of a name counts.
    """
    found = dict.fromkeys(SECTIONS, "")
    text = _FENCE.sub("", plain(reply))
    section, begins = "", 0
    for match in [*_BOUNDARY.finditer(text), None]:
        written = _section(text[begins : match.start() if match else None])
        if section and len(written) > len(found[section]):
            found[section] = written
        if match:
            title = (match["tag"] or match["heading"]).lower()
            section = "" if match["close"] else next(name for name in SECTIONS if name[0] == title[0])
            begins = match.end()
    return Profile(**found) if any(found.values()) else None


def _section(text: str) -> str:
    text = paragraphs(without_html(text))
    return "" if text.lower().strip(" \n.*_-()[]`") in _EMPTY else cut(text, MAX_SECTION)


def print_profile(profile: Profile) -> str:
    """The text that reads as ``profile`` again."""
    texts = {name: getattr(profile, name) for name in SECTIONS}
    return "\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in texts.items() if text)
