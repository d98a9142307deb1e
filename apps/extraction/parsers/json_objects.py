"""Read replies in JSON, which some models write, as the tagged lines that they stand for. Without database access."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from apps.extraction.parsers.labels import label_of
from apps.extraction.parsers.text_cleanup import clean_reply, one_line, tag_safe_name

_SMART_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
# A text that is never closed ends at the end: it would be looked through from each mark in it.
_COMMENT = re.compile(r"(?P<text>\"(?:\\.|[^\"\\])*(?:\"|\\?\Z))|/\*[^\n]{0,300}?\*/|//[^\n]*", re.DOTALL)
TEXT_NAMES = ("text", "content", "memory", "fact", "description")
MAX_OBJECTS = 200
MAX_LEVELS = 4
# Braces that begin no object. Some are allowed, so that an array that was cut short is parsed; more occur in prose.
MAX_FAILURES = 3
_DECODER = json.JSONDecoder()


def extract_objects(reply: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the innermost objects of an array, an object, or several in a row, and what is no complete object.

    Typographic or single quotes, comments, a comma after the last item, and JSON within a text are tolerated.
    """
    text = _unquoted(clean_reply(reply))
    objects, rest = _decoded(text)
    if not objects and "{" in text:
        corrected = _TRAILING_COMMA.sub("", text.translate(_SMART_QUOTES))
        objects, rest = _decoded(corrected)
        if not objects and (objects := list(_innermost(_literal(corrected), MAX_LEVELS))):
            rest = []
        if not objects and ("//" in corrected or "/*" in corrected):
            uncommented = _COMMENT.sub(lambda match: match["text"] or "", corrected)
            objects, rest = _decoded(_TRAILING_COMMA.sub("", uncommented))
    return objects[:MAX_OBJECTS], rest


def _unquoted(text: str) -> str:
    """Return a reply that is one text in JSON as that text."""
    for _ in range(MAX_LEVELS):
        inner = _json_in(text, '"')
        if not isinstance(inner, str):
            break
        text = inner
    return text


def _json_in(text: str, *openings: str) -> Any:
    """Return the value of a text in JSON that begins with one of the openings, or None."""
    try:
        return json.loads(text) if text.lstrip().startswith(openings) else None
    except (ValueError, RecursionError):
        return None


def _literal(text: str) -> Any:
    """Return the value of a text as Python writes it, with single quotes, or None."""
    start, end = min((at for at in map(text.find, "[{") if at >= 0), default=0), max(map(text.rfind, "]}")) + 1
    try:
        return ast.literal_eval(text[start:end])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _decoded(text: str) -> tuple[list[dict[str, Any]], list[str]]:
    objects: list[dict[str, Any]] = []
    rest: list[str] = []
    start = text.find("{")
    while start >= 0 and len(objects) < MAX_OBJECTS and len(rest) < MAX_FAILURES:
        try:
            value, end = _DECODER.raw_decode(text, start)
            objects += _innermost(value, MAX_LEVELS)
        except (ValueError, RecursionError):
            end = start + 1
            rest.append(text[start : text.find("{", end) if "{" in text[end:] else None])
        start = text.find("{", end)
    return objects, [piece for piece in rest if any(map(str.isalnum, piece))]


def _innermost(value: Any, levels: int, kind: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the objects in lists within an object, or the object itself if it holds no lists of objects.

    What stands under the name of a kind, as in ``{"facts": ["…"]}``, is of that kind.
    """
    if isinstance(value, list):
        for item in value if levels else ():
            yield from _innermost(item, levels - 1, kind)
    elif isinstance(value, str) and kind:
        yield {"kind": kind, "text": value}
    elif isinstance(value, dict):
        value = {name: item if str(name).lower() in TEXT_NAMES else _as_records(item) for name, item in value.items()}
        inner = {name: item for name, item in value.items() if _holds_records(str(name), item)}
        if not inner:
            yield {"kind": kind, **value} if kind and "kind" not in value and "type" not in value else value
        for name, item in inner.items() if levels else ():
            yield from _innermost(item, levels - 1, label_of(str(name)) or kind)


def _as_records(value: Any) -> Any:
    """Return the objects that a text has in JSON, any other value as it is."""
    inner = _json_in(value, "{", "[") if isinstance(value, str) else None
    return inner if isinstance(inner, dict) or (isinstance(inner, list) and any(map(_is_record, inner))) else value


def _holds_records(name: str, value: Any) -> bool:
    """Return whether the value of a name is a list of objects, or all that a reply has of a kind."""
    if isinstance(value, list) and value:
        return _is_record(value[0]) or (label_of(name) is not None and isinstance(value[0], str))
    return isinstance(value, dict) and any(isinstance(item, list) and label_of(str(key)) for key, item in value.items())


def _is_record(value: Any) -> bool:
    """Return whether a value is an object with more keys than an entity's name and type."""
    return isinstance(value, dict) and bool(value.keys() - {"name", "type", "kind"})


_STATE_WORDS = ("state", "states")
_KNOWLEDGE_WORDS = ("knows", "suspects", "believes", "unaware", "hiding")


def lines_of_objects(reply: str) -> str:
    """Return the objects of a reply as lines, "" if none has a kind.

    Objects without a kind, and what of a reply is cut short, are paragraphs without a tag, which no parser can use.
    """
    objects, rest = extract_objects(reply)
    lines = [line_of(item) for item in objects]
    if not any(lines):
        return ""
    lines = [line or f"\n{one_line(str(item))}\n" for line, item in zip(lines, objects, strict=True)]
    return "\n".join([*lines, *(f"\n{one_line(piece)}" for piece in rest)])


def line_of(item: Mapping[str, Any]) -> str:
    """Return the tagged line that an object stands for, "" without a kind or a text."""
    fields = {key.lower(): value for key, value in item.items()}
    kind = tag_safe_name(str(_first(fields, "kind", "tag", "type", "category"))).lower()
    text = _first(fields, *TEXT_NAMES)
    if not kind and not any(fields.get(name) for name in TEXT_NAMES if not label_of(name)):  # {"fact": "…"}
        kind = next((name for name, value in fields.items() if label_of(name) and isinstance(value, str)), "")
        text = text or fields.get(kind, "")
    text = one_line(text, 4000) if isinstance(text, str) else ""
    name = tag_safe_name(str(_first(fields, "name", "subject", "character")))
    if kind in _STATE_WORDS:
        values = _first(fields, "fields", "values", "state")
        pairs = " | ".join(f"{key}={value}" for key, value in values.items()) if isinstance(values, dict) else text
        return f"[state:{name}:{_first(fields, 'entity_type', 'entity', 'of') or 'character'}] {pairs}"
    if kind in _KNOWLEDGE_WORDS:
        target = tag_safe_name(str(_first(fields, "target", "from")))
        return f"[{kind}] {name}{f' from {target}' if target else ''} | {text}"
    if not kind or not text:
        return ""
    return f"[{':'.join([kind, *_modifiers(fields)])}] {text}"


def _modifiers(fields: Mapping[str, Any]) -> list[str]:
    """Return the parts of a tag after the kind."""
    parts = [tag_safe_name(str(_first(fields, name))) for name in ("number", "importance", "expiration")]
    sources = _first(fields, "source", "sources", "citations")
    entities = _first(fields, "entities", "entity")
    named = [_entity_token(entity) for entity in (entities if isinstance(entities, list) else [entities])]
    values = {
        "source": _joined(sources),
        "entity": ",".join(filter(lambda token: token.strip("/"), named)),
        "for": _joined(_first(fields, "for", "known_to")),
        "triggers": _joined(_first(fields, "triggers")),
    }
    return [*filter(None, parts), *(f"{name}={value}" for name, value in values.items() if value)]


def _first(fields: Mapping[str, Any], *names: str) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), "")


def _joined(value: Any) -> str:
    return ",".join(tag_safe_name(str(item)) for item in (value if isinstance(value, list) else [value]) if item != "")


def _entity_token(entity: Any) -> str:
    if isinstance(entity, dict):
        return f"{tag_safe_name(str(entity.get('name', '')))}/{_first(entity, 'type', 'kind')}"
    name, _, kind = str(entity).partition("/")
    return f"{tag_safe_name(name)}/{kind}"
