"""The lines in which memories come from a model, read and printed. Pure.

``[kind:importance:expiration:source=3,4:entity=Mira/character,Port Salt/place] text``, one memory a line. Models
bullet, number, embolden, indent, fence and wrap what they write; all of that reads the same.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

IMPORTANCE = 2  # where a line does not say
ENTITY_KINDS = ("character", "place", "object", "faction", "concept")
UNKNOWN = "unknown"
EXPIRATIONS = ("scene", "session", "permanent")
MAX_TEXT = 1000
MAX_ENTITIES = 8


@dataclass(frozen=True)
class NamedEntity:
    """Somebody or something that a memory names; ``kind`` is one of ENTITY_KINDS or "unknown"."""

    name: str
    kind: str = UNKNOWN


@dataclass(frozen=True)
class Candidate:
    """A memory as a model proposes it. ``sources`` are the numbers of the turns that it was offered."""

    kind: str
    text: str
    importance: int = IMPORTANCE
    expiration: str = "permanent"
    sources: tuple[int, ...] = ()
    entities: tuple[NamedEntity, ...] = ()


@dataclass(frozen=True)
class Parsed:
    """What a reply held. ``unused`` are its lines that could not be read as anything."""

    candidates: list[Candidate] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


_WIDE = str.maketrans({"［": "[", "］": "]", "【": "[", "】": "]", "：": ":", "＝": "=", "，": ",", "／": "/"})
_OPENINGS = ("[", "［", "【")
# What stands before a line's content: quotes, bullets, numbers, and the marks of bold and code.
_LEAD = re.compile(r"^(?:\s|[-*•·‣▪–—+>]|`+|\d{1,3}[.)](?=\s|\[|\*))*")
_TAG = re.compile(r"^\[(?P<tag>[^\[\]\n]*)\][*_`\s:–—-]*(?P<text>.*)$", re.DOTALL)
_FENCE = re.compile(r"^\s*(?:```|~~~)\w*\s*$")
_NONE = re.compile(r"^\W*none\W*$", re.IGNORECASE)


def parse_memories(reply: str, kinds: Sequence[str], *, expiration: str = "permanent") -> Parsed:
    """Read a reply's lines as memories of one of ``kinds``; ``expiration`` holds where a line names none.

    Never raises. A line without a tag continues the memory before it.
    """
    candidates: list[Candidate] = []
    unused: list[str] = []
    for record in _records(reply):
        candidate = _candidate(record, kinds, expiration)
        if candidate:
            candidates.append(candidate)
        elif not _NONE.match(record):
            unused.append(record)
    return Parsed(candidates, unused)


def _records(reply: str) -> Iterable[str]:
    """The reply's lines with their leads taken off and their continuations put on."""
    record = ""
    for raw in reply.splitlines():
        if _FENCE.match(raw):
            continue
        line = _LEAD.sub("", raw)
        continues = record.startswith(_OPENINGS) and bool(line) and not _NONE.match(line)
        if continues and not line.startswith(_OPENINGS):
            record = f"{record} {line.strip()}"
            continue
        if record:
            yield record
        record = line.strip()
    if record:
        yield record


def _candidate(record: str, kinds: Sequence[str], expiration: str) -> Candidate | None:
    match = _TAG.match(_narrow_tag(record))
    if match is None:
        return None
    kind, *modifiers = (part.strip() for part in match["tag"].split(":"))
    name = _kind(kind, kinds)
    text = _clean(match["text"])
    if name is None or not text:
        return None
    return Candidate(
        kind=name,
        text=text,
        importance=_importance(modifiers),
        expiration=next((word for word in map(str.lower, modifiers) if word in EXPIRATIONS), expiration),
        sources=_sources(modifiers),
        entities=_entities(modifiers),
    )


def _narrow_tag(record: str) -> str:
    """The record with full-width punctuation in its tag, and only there, made plain."""
    end = next((i for i, char in enumerate(record) if char in "]］】"), -1)
    return record[: end + 1].translate(_WIDE) + record[end + 1 :]


def _kind(word: str, kinds: Sequence[str]) -> str | None:
    """The kind that a word means, whatever its case, and in the plural too."""
    word = word.strip(" *_`").lower()
    return next((kind for kind in kinds if word in (kind, f"{kind}s")), None)


def _clean(text: str) -> str:
    """The text in one line, without closing marks whose opening ones stood before the tag."""
    text = " ".join(text.split())[:MAX_TEXT].strip()
    while mark := next((mark for mark in ("**", "__", "`") if text.endswith(mark) and text.count(mark) % 2), ""):
        text = text.removesuffix(mark).strip()
    return text


def _importance(modifiers: Iterable[str]) -> int:
    return next((int(word) for word in modifiers if word in ("1", "2", "3")), IMPORTANCE)


def _value_of(modifiers: Iterable[str], name: str) -> str:
    pairs = (word.partition("=") for word in modifiers)
    return next((value for key, _, value in pairs if key.strip().lower() == name), "")


def _sources(modifiers: Iterable[str]) -> tuple[int, ...]:
    numbers = re.findall(r"\d{1,9}", _value_of(modifiers, "source"), re.ASCII)
    return tuple(dict.fromkeys(int(number) for number in numbers))


def _entities(modifiers: Iterable[str]) -> tuple[NamedEntity, ...]:
    found: dict[str, NamedEntity] = {}
    for item in _value_of(modifiers, "entity").split(","):
        name, _, kind = item.partition("/")
        name, kind = _inside(name), kind.strip().lower()
        if name:
            found.setdefault(name.casefold(), NamedEntity(name, kind if kind in ENTITY_KINDS else UNKNOWN))
    return tuple(found.values())[:MAX_ENTITIES]


def print_memory(candidate: Candidate) -> str:
    """The line that reads as ``candidate`` again."""
    tag = [candidate.kind, str(candidate.importance), candidate.expiration]
    if candidate.sources:
        tag.append("source=" + ",".join(map(str, candidate.sources)))
    if candidate.entities:
        tag.append("entity=" + ",".join(f"{_inside(entity.name)}/{entity.kind}" for entity in candidate.entities))
    return f"[{':'.join(tag)}] {' '.join(candidate.text.split())}"


def _inside(name: str) -> str:
    """A name without what has a meaning in a tag."""
    return " ".join(re.sub(r"[\[\]:,/=［］【】：，／＝]", " ", name).split())


def candidate_hash(candidate: Candidate, source_ids: Iterable[object]) -> str:
    """What makes a line about the same messages the same, so that it is written once however often it is read."""
    parts = [candidate.kind, " ".join(candidate.text.split()), *sorted(map(str, source_ids))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
