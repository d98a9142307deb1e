"""Write JSON objects of a reply as the tagged lines that they stand for. Without database access."""

from collections.abc import Mapping
from typing import Any

from apps.extraction.parsers.json_objects import extract_objects
from apps.extraction.parsers.labels import label_of
from apps.extraction.parsers.text_cleanup import one_line, tag_safe_name

_TEXT = ("text", "content", "memory", "fact", "description")
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
    text = _first(fields, *_TEXT)
    if not kind and not any(fields.get(name) for name in _TEXT if not label_of(name)):  # {"fact": "…"}
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
