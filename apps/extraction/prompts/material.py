"""Render a task's material (turns, known memories, names …) as values of its placeholders. Without database access."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from apps.common.words import Words
from apps.extraction.prompts.transcript import (
    INDENT,
    MAX_NAME,
    MAX_TURN,
    neutral_line,
    neutralize,
    quoted_lines,
    transcript,
)

EMPTY = "(nothing)"
EVERYBODY = "everybody in the conversation"
MAX_SCENE_BREAK_TURN = 1200  # characters of a message: its beginning and end tell whether a scene begins
MAX_EARLIER_TURN = 2000  # characters of a message that has been read before
PromptContext = Mapping[str, Any]


def placeholder_values(material: PromptContext, *, max_chars: int = MAX_TURN, is_plain: bool = False) -> dict[str, str]:
    """Return the text of every placeholder for which there is material; if ``is_plain``, messages without marks."""
    values = {name: render(material[name]) for name, render in _RENDERERS.items() if name in material}
    if "previous" in material:  # two messages, of which the second one may begin a scene
        turns = [material["previous"], material["turn"]]
        max_chars = min(max_chars, MAX_SCENE_BREAK_TURN)
        values["number"] = str(material["turn"]["number"])
    else:
        turns = [material["turn"]] if "turn" in material else material.get("turns", [])
    if "earlier" in material:
        values["earlier"] = transcript(material["earlier"], max_chars=MAX_EARLIER_TURN)
    shown = quoted_lines(turns) if is_plain else transcript(turns, max_chars=max_chars)
    return values | {"transcript": shown}


def _join_lines(lines: Iterable[str]) -> str:
    return "\n".join(lines) or EMPTY


def _render_names(names: Iterable[str]) -> str:
    return ", ".join(filter(None, map(_render_name, names))) or EMPTY


def _render_name(name: str) -> str:
    return neutral_line(name)[:MAX_NAME]


def _render_entries(entries: Iterable[Mapping[str, Any] | str]) -> str:
    """Return a line for each entry: ``3. (fact) text``, or ``- text`` for a text without number and kind."""
    return _join_lines(_render_entry(entry) for entry in entries)


def _render_entry(entry: Mapping[str, Any] | str) -> str:
    if isinstance(entry, str):
        return f"- {neutral_line(entry)}"
    return f"{entry['number']}. {_render_subject_and_kind(entry)}{neutral_line(entry['text'])}"


def _render_subject_and_kind(entry: Mapping[str, Any]) -> str:
    """Return subject, kind and target of an entry.

    Use parentheses: models copy square brackets into their replies, where the parser takes them for tags.
    """
    words = [entry.get("subject", ""), entry.get("kind", ""), "from" if entry.get("target") else ""]
    about = " ".join(filter(None, map(neutral_line, [*words, entry.get("target", "")])))
    return f"({about}) " if about else ""


def _render_known(known: Iterable[Mapping[str, Any] | str]) -> str:
    known = list(known)
    pairs = [entry for entry in known if not isinstance(entry, str) and "descriptors" in entry]
    return _join_lines(map(_render_relationship, pairs)) if pairs else _render_entries(known)


def _render_relationship(pair: Mapping[str, Any]) -> str:
    words = ", ".join(f"{neutral_line(item['word'])}({item['magnitude']})" for item in pair["descriptors"])
    return f"{neutral_line(pair['subject'])} -> {neutral_line(pair['target'])}: {words}"


def _render_pair(pair: Mapping[str, Any]) -> str:
    return f"{pair['number']}. older: {neutral_line(pair['old'])}\n   newer: {neutral_line(pair['new'])}"


def _render_entities(entities: Iterable[Mapping[str, Any]]) -> str:
    return _join_lines(map(_render_entity, entities))


def _render_entity(entity: Mapping[str, Any]) -> str:
    fields = " | ".join(f"{name}={neutral_line(value)}" for name, value in entity.get("fields", {}).items())
    return f"- {neutral_line(entity['name'])} ({entity['type']}): {fields or 'nothing known'}"


def _render_text(text: str) -> str:
    """Return a text of several lines, indented, so that none of them can stand for a heading of the template."""
    return "\n".join(f"{INDENT}{line}" for line in neutralize(text).strip().splitlines()) or EMPTY


_RENDERERS: Mapping[str, Callable[[Any], str]] = {
    "participants": _render_names,
    "names": _render_names,
    "subject": lambda subject: _render_name(subject) or EVERYBODY,
    "per_kind": str,
    "kind": neutral_line,
    "known": _render_known,
    "memories": _render_entries,
    "entries": _render_entries,
    "open": _render_entries,
    "facts": _render_entries,
    "scenes": _render_entries,
    "arcs": _render_entries,
    "issues": _render_entries,
    "entities": _render_entities,
    "pairs": lambda pairs: _join_lines(map(_render_pair, pairs)),
    "knowledge": _render_entries,
    "relationships": lambda pairs: _join_lines(map(_render_relationship, pairs)),
    "forms": str,
    "questions": str,
    "groups": lambda groups: "\n--\n".join(map(_render_entries, groups)) or EMPTY,
    "language": str,
    "arc": neutral_line,
    "summary": _render_text,
}
PLACEHOLDER_MEANINGS: Mapping[str, Words] = {
    "transcript": _("the messages, numbered, between marks"),
    "known": _("entries that are already known"),
    "participants": _("the names of all participants"),
    "names": _("the names that may be used"),
    "per_kind": _("the maximum number of lines of each kind"),
    "subject": _("the name of the character"),
    "memories": _("the memories"),
    "entries": _("the memories that may be merged, numbered"),
    "kind": _("the kind of these memories"),
    "pairs": _("pairs of an older and a newer memory, numbered"),
    "forms": _("the forms of lines that the tiers ask for"),
    "knowledge": _("entries about who knows what, numbered"),
    "relationships": _("how people stand to each other"),
    "earlier": _("messages before the new ones, which have been read already"),
    "questions": _("the questions, each with what it is about"),
    "language": _("the language of the conversation"),
    "summary": _("the summary so far"),
    "number": _("the number of the message in question"),
    "open": _("the open threads, numbered"),
    "arc": _("the arc that was resolved"),
    "scenes": _("recaps of scenes, the oldest first"),
    "entities": _("the entities, with their known state"),
    "arcs": _("summaries of resolved arcs"),
    "facts": _("the known facts, numbered"),
    "issues": _("the contradictions that were found"),
}
