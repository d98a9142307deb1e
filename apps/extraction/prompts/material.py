"""A task's material as the texts that its placeholders stand for. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from apps.extraction.prompts.transcript import MAX_TURN, neutral, one_line, transcript

NOTHING = "(nothing)"
EVERYBODY = "everybody in the conversation"
LONGEST_AT_A_BREAK = 1200  # characters of a message; how it begins and ends tells whether a scene does
Material = Mapping[str, Any]


def values_of(task: str, material: Material, *, longest: int = MAX_TURN) -> dict[str, str]:
    """The text for every placeholder of which the material tells something."""
    values = {name: write(material[name]) for name, write in _WRITERS.items() if name in material}
    if task == "scene_break":
        turns = [material["previous"], material["turn"]]
        longest = min(longest, LONGEST_AT_A_BREAK)
        values["number"] = str(material["turn"]["number"])
    else:
        turns = [material["turn"]] if "turn" in material else material.get("turns", [])
    return values | {"transcript": transcript(turns, longest=longest)}


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(lines) or NOTHING


def _names(names: Iterable[str]) -> str:
    return ", ".join(filter(None, map(one_line, names))) or NOTHING


def _entries(entries: Iterable[Mapping[str, Any] | str]) -> str:
    """A line for each: ``3. (fact) text`` of those that have a number and a kind, ``- text`` of bare texts."""
    return _listed(_entry(entry) for entry in entries)


def _entry(entry: Mapping[str, Any] | str) -> str:
    if isinstance(entry, str):
        return f"- {one_line(entry)}"
    return f"{entry['number']}. {_about(entry)}{one_line(entry['text'])}"


def _about(entry: Mapping[str, Any]) -> str:
    """What kind of entry it is, and of whom, in round brackets, so that it is no line of a reply."""
    words = [entry.get("subject", ""), entry.get("kind", ""), "from" if entry.get("target") else ""]
    about = " ".join(filter(None, map(one_line, [*words, entry.get("target", "")])))
    return f"({about}) " if about else ""


def _known(known: Iterable[Mapping[str, Any] | str]) -> str:
    known = list(known)
    stands = [one for one in known if not isinstance(one, str) and "descriptors" in one]
    return _listed(map(_standing, stands)) if stands else _entries(known)


def _standing(one: Mapping[str, Any]) -> str:
    words = ", ".join(f"{one_line(item['word'])}({item['magnitude']})" for item in one["descriptors"])
    return f"{one_line(one['subject'])} -> {one_line(one['target'])}: {words}"


def _entities(entities: Iterable[Mapping[str, Any]]) -> str:
    return _listed(map(_entity, entities))


def _entity(entity: Mapping[str, Any]) -> str:
    fields = " | ".join(f"{name}={one_line(value)}" for name, value in entity.get("fields", {}).items())
    return f"- {one_line(entity['name'])} ({entity['type']}): {fields or 'nothing known'}"


def _text(text: str) -> str:
    return neutral(text).strip() or NOTHING


_WRITERS: Mapping[str, Callable[[Any], str]] = {
    "participants": _names,
    "names": _names,
    "subject": lambda subject: one_line(subject) or EVERYBODY,
    "per_kind": str,
    "kind": one_line,
    "known": _known,
    "memories": _entries,
    "entries": _entries,
    "open": _entries,
    "facts": _entries,
    "scenes": _entries,
    "arcs": _entries,
    "issues": _entries,
    "entities": _entities,
    "old": one_line,
    "new": one_line,
    "arc": one_line,
    "summary": _text,
}
