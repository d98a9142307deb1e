"""Replies read by the engine's own parsers into lines that can be compared with what is expected. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.extraction.parsers.arcs import RESOLVED, ArcLine, parse_arcs
from apps.extraction.parsers.continuity import parse_contradictions
from apps.extraction.parsers.epistemic import RETIRE, parse_knowledge
from apps.extraction.parsers.ledger import parse_states
from apps.extraction.parsers.memories import parse_memories
from apps.extraction.parsers.profiles import SECTIONS as PROFILE_SECTIONS
from apps.extraction.parsers.profiles import parse_profiles
from apps.extraction.parsers.prose import parse_prose
from apps.extraction.parsers.relationships import parse_relationships
from apps.extraction.parsers.summary import SECTIONS as SUMMARY_SECTIONS
from apps.extraction.parsers.summary import parse_summary
from apps.extraction.suitability.expectations import Line

Material = Mapping[str, Any]
SESSION_KINDS = ("scene", "revelation", "development", "detail")
LONG_TERM_KINDS = ("fact", "relationship", "preference", "event")
MAX_PROSE = 6000  # characters
_PLACEHOLDER = re.compile(
    r"=\s*(?:unknown|not (?:mentioned|specified)|none mentioned|unspecified|n/?a)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Read:
    """``form``, from 0 to 1, is how much of the reply came as it was asked for; ``count`` how many entries it has."""

    lines: list[Line] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    form: float = 0.0
    count: int = 0
    remarks: list[str] = field(default_factory=list)


def read_reply(task: str, reply: str, material: Material) -> Read:
    """What the reply to a task says. Never raises for what a model may write. Raises KeyError for an unknown task."""
    return _READERS[task](reply, material)


def _of_lines(lines: list[Line], count: int, unused: Sequence[str], remarks: Sequence[str] = ()) -> Read:
    total = count + len(unused)
    return Read(lines, list(unused), count / total if total else 0.0, count, list(remarks))


def _memories(kinds: tuple[str, ...]) -> Callable[[str, Material], Read]:
    def reader(reply: str, material: Material) -> Read:
        parsed = parse_memories(reply, kinds)
        numbers = {turn["number"] for turn in material["turns"]}
        good = [one for one in parsed.candidates if set(one.sources) <= numbers]
        remarks = []
        if len(good) < len(parsed.candidates):
            remarks.append("It cites messages that don't exist.")
        if good and 2 * sum(not one.sources for one in good) > len(good):
            remarks.append("It seldom says which messages a memory comes from; Loci has to guess.")
        if len(good) > 2 * material["per_kind"] * len(kinds):
            remarks.append("It writes far more than was asked for.")
        unused = [*parsed.unused, *(one.text for one in parsed.candidates if one not in good)]
        return _of_lines([Line(one.text, one.kind) for one in good], len(good), unused, remarks)

    return reader


def _arcs(reply: str, material: Material) -> Read:
    parsed = parse_arcs(reply)
    known = {arc["number"]: arc["text"] for arc in material["open"]}
    return _of_lines([_arc(item, known) for item in parsed.items], len(parsed.items), parsed.unused)


def _arc(item: ArcLine, known: Mapping[int, str]) -> Line:
    """A resolution says what its number stands for, too."""
    named = known.get(item.number or 0, "") if item.kind == RESOLVED else ""
    return Line(f"{named} {item.text}", item.kind)


def _epistemic(reply: str, material: Material) -> Read:
    parsed = parse_knowledge(reply)
    lines = [
        Line(f"{item.text} from {item.target}" if item.target else item.text, item.kind, item.subject)
        for item in parsed.items
    ]
    lines += [Line(str(number), RETIRE) for number in parsed.retired]
    used = {line.kind for line in lines}
    missing = [f"[{kind}]" for kind in ("knows", "suspects", "believes", "unaware", "hiding") if kind not in used]
    remarks = [f"It never used {', '.join(missing)}."] if lines and missing else []
    return _of_lines(lines, len(lines), parsed.unused, remarks)


def _ledger(reply: str, material: Material) -> Read:
    parsed = parse_states(reply)
    lines = [
        Line(f"{item.name} {item.type} {name} {value}", name, item.name)
        for item in parsed.items
        for name, value in [*item.fields.items(), *((cleared, "cleared") for cleared in item.cleared)]
    ]
    placeholders = _PLACEHOLDER.findall(reply)
    remarks = ["It fills in “unknown” where it should leave a field out."] if len(placeholders) > 1 else []
    return _of_lines(lines, len(lines), [*parsed.unused, *placeholders], remarks)


def _relationships(reply: str, material: Material) -> Read:
    parsed = parse_relationships(reply)
    names = {name.casefold() for name in material["names"]}
    good = [item for item in parsed.items if {item.subject.casefold(), item.target.casefold()} <= names]
    lines = [
        Line(word, kind, f"{item.subject} {item.target}")
        for item in good
        for kind, words in (("now", [one.word for one in item.added]), ("no longer", item.removed))
        for word in words
    ]
    strange = [f"{item.subject} -> {item.target}" for item in parsed.items if item not in good]
    return _of_lines(lines, len(good), [*parsed.unused, *strange])


def _summary(reply: str, material: Material) -> Read:
    sections = parse_summary(reply).sections
    lines = [Line(text, str(number)) for number, text in sections.items()]
    missing = [f"{number}. {title}" for number, title in SUMMARY_SECTIONS.items() if number not in sections]
    remarks = [f"{len(missing)} of the nine sections are missing."] if lines and missing else []
    return Read(lines, missing if lines else [], len(sections) / len(SUMMARY_SECTIONS), len(sections), remarks)


def _profiles(reply: str, material: Material) -> Read:
    profile = parse_profiles(reply)
    lines = [Line(text, name) for name in PROFILE_SECTIONS if profile and (text := getattr(profile, name))]
    return Read(lines, [], len(lines) / len(PROFILE_SECTIONS), len(lines))


def _canon(reply: str, material: Material) -> Read:
    text = parse_prose(reply, MAX_PROSE)
    labels = [
        label for label in ("Who", "What happened", "Where things stand") if f"{label.casefold()}:" in _bare(text)
    ]
    return Read([Line(text)] if text else [], [], (1 + len(labels)) / 4 if text else 0.0, 1 if text else 0)


def _bare(text: str) -> str:
    return re.sub(r"[*_#]", "", text.casefold())


def _recap(reply: str, material: Material) -> Read:
    text = parse_prose(reply, MAX_PROSE)
    long = len(text) > 900  # characters; three sentences have at most some 600
    remarks = ["It was asked for two or three sentences and wrote many more."] if long else []
    return Read([Line(text)] if text else [], [], (0.5 if long else 1.0) if text else 0.0, 1 if text else 0, remarks)


def _continuity(reply: str, material: Material) -> Read:
    parsed = parse_contradictions(reply)
    lines = [Line(item.text, "" if item.number is None else str(item.number)) for item in parsed.items]
    return _of_lines(lines, len(lines), parsed.unused)


_READERS: Mapping[str, Callable[[str, Material], Read]] = {
    "session": _memories(SESSION_KINDS),
    "long_term": _memories(LONG_TERM_KINDS),
    "arcs": _arcs,
    "epistemic": _epistemic,
    "ledger": _ledger,
    "relationships": _relationships,
    "summary": _summary,
    "profiles": _profiles,
    "canon": _canon,
    "scene_recap": _recap,
    "continuity": _continuity,
}
