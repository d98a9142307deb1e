"""Read what other memory systems export: lists of sentences about a person.

The shapes, as their programs write them:

- mem0: objects with ``memory``, in a list or under ``results``;
- Open WebUI: objects with ``content`` and ``user_id``; ChatGPT's saved memories, as tools export them: ``content``;
- Claude: ``memories.json``, objects with ``conversations_memory`` and ``project_memories``, which are Markdown;
- Letta: an agent file (``.af``) with ``blocks``, or ``core_memory`` of older ones, of ``label`` and ``value``;
- Zep and Graphiti: ``edges`` with ``fact``, and ``nodes`` with ``name`` and ``summary``;
- text and Markdown, such as ``MEMORY.md`` or a copied list: one memory for each item of a list and each paragraph.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from apps.exchange.memories.reading.found import Found, FoundEntity, FoundMemory
from apps.exchange.memories.reading.values import MAX_ITEMS, cuts, name_of, names_at, object_at, objects_at, text_at
from apps.memories.candidates import NamedEntity
from apps.memories.models import Memory

AGENTS_OWN = ("persona", "system", "instructions")  # blocks of Letta that describe the agent, not what it knows
MAX_LENGTH = 600  # characters of a memory: a longer paragraph is divided where a sentence ends
SHORT = 4  # words: an item of fewer says little without its heading
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"^#{1,6}\s+|^\*\*[^*]+\*\*:?$")
_RULE = re.compile(r"^\s*(?:[-*_=]\s*){3,}$|^```|^<!--.*-->$")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_DATE = re.compile(r"^\[[\d\-/: T]{8,20}\]\s*[-–:]?\s*")


def read_list(value: Any) -> tuple[str, Found] | None:
    """Return the program that wrote a JSON value, and what it holds. None if it is no export of memories."""
    rows = _rows(value)
    if isinstance(value, dict):
        if _have(objects_at(value, "edges"), "fact"):
            return "Zep", _read_graph(value)
        if blocks := [*_blocks(value)]:
            return "Letta", _read_blocks(blocks, value)
    if _have(rows, "memory"):
        return "mem0", _read_rows(rows, "memory", value)
    if _have(rows, "conversations_memory") or _have(rows, "project_memories"):
        return "Claude", _read_claude(rows, value)
    if _have(rows, "content") and not any("role" in row or "messages" in row or "key" in row for row in rows):
        return ("Open WebUI" if _have(rows, "user_id") else "memories"), _read_rows(rows, "content", value)
    return None


def read_text(text: str) -> Found:
    """Return the items and paragraphs of a text or of Markdown as memories."""
    found = Found()
    items = list(_items(text))
    if len(items) > MAX_ITEMS:
        found.warn(f"Of {len(items):,} entries the first {MAX_ITEMS:,} were read.")
    found.memories += [_memory(item) for item in items[:MAX_ITEMS]]
    return found


def _rows(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, or of the list that an object holds under the names that programs use."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("results", "memories", "data") if isinstance(value.get(key), list)), value)
    items = value if isinstance(value, list) else [value]
    return [item for item in items[:MAX_ITEMS] if isinstance(item, dict)]


def _have(rows: Iterable[Mapping[str, Any]], key: str) -> bool:
    """Return whether the first row has ``key``. All rows of an export have the same keys."""
    return key in next(iter(rows), {})


def _read_rows(rows: Iterable[dict[str, Any]], key: str, value: Any) -> Found:
    found = Found(warnings=cuts({"memories": value}))
    for row in rows:
        if text := text_at(row, key):
            labels = names_at(row, "categories") or names_at(object_at(row, "metadata"), "tags")
            found.memories.append(_memory(text, key=text_at(row, "id"), triggers=labels))
        else:
            found.warn("An entry without a text was not read.")
    return found


def _read_claude(rows: Iterable[dict[str, Any]], value: Any) -> Found:
    found = Found(warnings=cuts({"memories": value}))
    for row in rows:
        texts = [text_at(row, "conversations_memory"), *object_at(row, "project_memories").values()]
        for text in texts:
            found.memories += read_text(text).memories if isinstance(text, str) else []
    return found


def _blocks(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the blocks of an agent file, which older ones call ``core_memory``."""
    if "agents" in document or "core_memory" in document:
        for key in ("blocks", "core_memory"):
            yield from (block for block in objects_at(document, key) if "label" in block and "value" in block)


def _read_blocks(blocks: Iterable[dict[str, Any]], document: Mapping[str, Any]) -> Found:
    found = Found(warnings=cuts(document))
    for block in blocks:
        label = name_of(block["label"])
        if label.casefold() in AGENTS_OWN:
            found.warn(f"The block “{label}” describes the agent itself and was not read: it belongs on a card.")
        else:
            found.memories += read_text(text_at(block, "value")).memories
    return found


def _read_graph(document: Mapping[str, Any]) -> Found:
    """Return the facts of a graph, those that ended as outdated, and its nodes as names."""
    found = Found(warnings=cuts(document))
    nodes = {text_at(node, "uuid"): name_of(node.get("name")) for node in objects_at(document, "nodes")}
    found.entities += [FoundEntity(name) for name in dict.fromkeys(filter(None, nodes.values()))]
    for edge in objects_at(document, "edges"):
        ends = (nodes.get(text_at(edge, f"{end}_node_uuid"), "") for end in ("source", "target"))
        if text := text_at(edge, "fact"):
            has_ended = bool(edge.get("invalid_at") or edge.get("expired_at"))
            entities = tuple(NamedEntity(name, "unknown") for name in dict.fromkeys(filter(None, ends)))
            found.memories.append(_memory(text, key=text_at(edge, "uuid"), entities=entities, outdated=has_ended))
    for node in objects_at(document, "nodes"):
        if text := text_at(node, "summary"):
            name = name_of(node.get("name"))
            found.memories.append(_memory(text if name.casefold() in text.casefold() else f"{name}: {text}"))
    return found


def _items(text: str) -> Iterator[str]:
    """Yield the items of lists and the paragraphs of a text, each on one line."""
    heading, paragraph = "", list[str]()

    def ended() -> Iterator[str]:
        joined = " ".join(paragraph)
        paragraph.clear()
        yield from _divided(joined)

    for line in text.splitlines():
        if not line.strip() or _RULE.match(line.strip()):
            yield from ended()
        elif _HEADING.match(line.strip()):
            yield from ended()
            heading = line.strip().lstrip("#").strip().strip("*").strip().rstrip(":")
        elif match := _ITEM.match(line):
            yield from ended()
            item = _DATE.sub("", line[match.end() :].strip())
            paragraph.append(f"{heading}: {item}" if heading and len(item.split()) < SHORT else item)
        else:
            paragraph.append(line.strip())
    yield from ended()


def _divided(text: str) -> Iterator[str]:
    """Yield a text, or parts of a long one that end with a sentence."""
    part = ""
    for sentence in _SENTENCE_END.split(text) if len(text) > MAX_LENGTH else [text]:
        if part and len(part) + len(sentence) >= MAX_LENGTH:
            yield part
            part = ""
        part = f"{part} {sentence}".strip()
    if part:
        yield part


def _memory(text: str, **values: Any) -> FoundMemory:
    return FoundMemory(tier=Memory.Tier.LONG_TERM, kind=Memory.Kind.FACT, text=text, **values)
