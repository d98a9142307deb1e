"""Patterns of the lines that tasks ask for, for servers that can enforce them. Without database access.

They say less than the parsers check: a model that is held to too narrow a form writes what fits it instead of what is
meant. ``apps.llm.replies.constrained`` says what a pattern may contain.
"""

from collections.abc import Iterable, Mapping

_TEXT = r'[^"\\]+'
_NAME = r'[^"\\\[\]|:]+'
_MEMORY = r'\[({kinds}):[123][^\]"\\]*\] ' + _TEXT
_LINES: Mapping[str, str] = {
    "session": _MEMORY.format(kinds="scene|revelation|development|detail"),
    "long_term": _MEMORY.format(kinds="fact|relationship|preference|event"),
    "arcs": rf"\[(arc|resolved:[0-9]+)\] {_TEXT}",
    "epistemic": rf'\[(knows|suspects|believes|unaware|hiding)\] [^"\\|]+ \| {_TEXT}|\[retire\] [0-9]+',
    "ledger": rf'\[state:{_NAME}:(character|object|place|faction)\] [^"\\=|]+={_TEXT}',
    "scenes": rf"\[break:[0-9]+\] {_TEXT}",
    "relationships": rf"\[feels\] {_NAME} -> {_NAME}: {_TEXT}",
}
_ALONE = frozenset({"session", "long_term", "arcs", "epistemic", "ledger"})  # tasks whose lines are the same alone


def line_pattern(task: str, forms: Iterable[str] = ()) -> str:
    """Return the pattern of the lines of a task, "" if it has none; a reading asks for those of several ``forms``."""
    if task == "reading":
        return _any_of(_LINES[form] for form in forms if form in _LINES)
    return _any_of([_LINES[task]]) if task in _ALONE else ""


def _any_of(patterns: Iterable[str]) -> str:
    return f"^({'|'.join(patterns)})$"
