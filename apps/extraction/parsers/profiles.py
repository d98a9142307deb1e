"""Parse and format a profile: three sections between tags such as ``<character_state>``. Without database access."""

import re
from dataclasses import dataclass

from apps.extraction.parsers.free_text import truncate, unwrap_paragraphs
from apps.extraction.parsers.text_cleanup import clean_reply, is_none, strip_fences, strip_html

SECTIONS = ("character_state", "world_state", "relationship_matrix")
MAX_SECTION = 4000  # characters
_TITLE = r"(?P<{}>(?:character|world)[ _-]?state|relationships?[ _-]?matrix)"
_TAG = rf"[<\[]\s?(?P<close>/?)\s?{_TITLE.format('tag')}\s?[>\]]"
_HEADING = (
    rf"^[ \t]*(?:#{{1,6}}[ \t]+|\d[.)][ \t]+)?[*_]{{0,2}}{_TITLE.format('heading')}[*_]{{0,2}}[ \t]*(?::[*_]{{0,2}}|$)"
)
_BOUNDARY = re.compile(f"{_TAG}|{_HEADING}", re.IGNORECASE | re.MULTILINE)
_EMPTY = frozenset({"", "none", "n/a", "unknown"})


@dataclass(frozen=True)
class Profile:
    """Sections of a character's profile; "" for a section that the reply lacks."""

    character_state: str = ""
    world_state: str = ""
    relationship_matrix: str = ""


def parse_profiles(reply: str) -> Profile | None:
    """Parse a profile. Return None if all of its sections are missing. Never raise.

    A section ends with its closing tag or where the next one begins; headings are accepted instead of tags. If a
    section occurs twice, the longer one counts.
    """
    sections = dict.fromkeys(SECTIONS, "")
    text = strip_fences(clean_reply(reply))
    name, start = "", 0
    for match in [*_BOUNDARY.finditer(text), None]:
        section = unwrap_paragraphs(strip_html(text[start : match.start() if match else None]))
        section = "" if section.lower().strip(" \n.*_-()[]`") in _EMPTY else truncate(section, MAX_SECTION)
        if name and len(section) > len(sections[name]):
            sections[name] = section
        if match:
            title = (match["tag"] or match["heading"]).lower()
            name = "" if match["close"] else next(name for name in SECTIONS if name[0] == title[0])
            start = match.end()
    return Profile(**sections) if any(sections.values()) else None


def is_profile(reply: str) -> bool:
    """Return whether a reply has a section, or says that there is nothing to tell."""
    return is_none(reply) or parse_profiles(reply) is not None


def format_profile(profile: Profile) -> str:
    """Return ``profile`` formatted so that ``parse_profiles`` reads it back."""
    texts = {name: getattr(profile, name) for name in SECTIONS}
    return "\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in texts.items() if text)
