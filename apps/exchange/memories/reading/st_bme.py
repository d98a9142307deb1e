"""Read the memory graph of the extension ST-BME: from a chat's metadata, or from a backup file.

Positions in it count messages of the chat from 0, as Loci's do.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from apps.exchange.formats.json_lines import BrokenLine, loads
from apps.exchange.memories.reading.found import Found, FoundArc, FoundEntity, FoundMemory, FoundText, Span
from apps.exchange.memories.reading.values import (
    MAX_ITEMS,
    MAX_TEXT,
    cuts,
    name_of,
    names_at,
    number_at,
    object_at,
    objects_at,
    span_of,
    text_at,
)
from apps.memories.candidates import KnowledgeLine, NamedEntity, StateLine
from apps.memories.models import Entity, Knowledge, Memory, VersionedText

CHAT_KEY = "st_bme_graph"  # in the metadata of a chat
BACKUP_KIND = "st-bme-backup"
# Places of a graph in a document, the preferred one first: a graph, a backup, and the copies kept to recover from.
WRAPPERS = ("snapshot", "graph", "serializedGraph", "shadowSnapshot", "metadataFull")
CERTAINTIES = {"unsure": Knowledge.Kind.SUSPECTS, "mistaken": Knowledge.Kind.BELIEVES}
PARTICIPATION = ("involved_in", "occurred_at")  # edges between a character or a place and an event
NAMED_KINDS = {"character": Entity.Kind.CHARACTER, "location": Entity.Kind.PLACE}


def graph_in(value: Any) -> dict[str, Any] | None:
    """Return the graph in a value, which may be its JSON or a backup, or None if there is none."""
    if isinstance(value, str):
        try:
            value = loads(value.encode(errors="replace"), lambda warning: None)
        except BrokenLine:
            return None
    if not isinstance(value, dict):
        return None
    own = value if isinstance(value.get("nodes"), list | dict) else None
    if own and own["nodes"]:
        return own
    kept = (graph_in(value.get(key)) for key in WRAPPERS)
    return next((graph for graph in kept if graph and graph["nodes"]), own)


def read_graph(graph: Mapping[str, Any]) -> Found:
    """Return what a graph holds. Archived and deleted nodes are left out."""
    found = Found(warnings=cuts(graph))
    nodes = {text_at(node, "id") or f"#{number}": node for number, node in enumerate(_present(graph))}
    named = _named(nodes, graph)
    for key, node in nodes.items():
        fields = object_at(node, "fields")
        kind = text_at(node, "type")
        entities = named.get(key, ())
        if kind in NAMED_KINDS:
            _read_named(found, node, fields, NAMED_KINDS[kind])
        elif kind == "thread":
            _read_thread(found, node, fields)
        elif kind == "synopsis":
            if summary := text_at(fields, "summary"):
                span = _span_of(node)
                found.texts.append(FoundText(VersionedText.Kind.SUMMARY, summary, last=span[1] if span else None))
        elif kind == "pov_memory" and _owner_of(node):
            about = KnowledgeLine(
                CERTAINTIES.get(text_at(fields, "certainty"), Knowledge.Kind.KNOWS),
                _owner_of(node),
                "",
                text_at(fields, "summary"),
            )
            if about.text:
                found.knowledge.append((about, _span_of(node)))
        elif memory := _memory(node, kind, fields, entities):
            found.memories.append(memory)
        else:
            found.warn("A node without a text was not read.")
    found.texts += _summary_of(graph)
    found.texts.sort(key=lambda text: -1 if text.last is None else text.last, reverse=True)  # the newest is kept
    return found


def _present(graph: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the nodes that are neither archived nor deleted. A node changed after its deletion is present."""
    deleted = {
        text_at(stone, "targetId"): number_at(stone, "deletedAt") or 0.0
        for stone in objects_at(graph, "tombstones")
        if stone.get("kind") == "node"
    }
    for node in objects_at(graph, "nodes"):
        at = deleted.get(text_at(node, "id"))
        if node.get("archived") is not True and (at is None or at <= (number_at(node, "updatedAt") or 0.0)):
            yield node


def _named(nodes: Mapping[str, dict[str, Any]], graph: Mapping[str, Any]) -> dict[str, tuple[NamedEntity, ...]]:
    """Return who and what takes part in a node, by its id: from edges, and from its list of participants."""
    named: dict[str, list[NamedEntity]] = {}
    for edge in objects_at(graph, "edges"):
        if text_at(edge, "relation") not in PARTICIPATION:
            continue
        ends = text_at(edge, "fromId"), text_at(edge, "toId")
        for key, other in (ends, ends[::-1]):
            kind = NAMED_KINDS.get(text_at(nodes.get(key, {}), "type"))
            name = name_of(object_at(nodes.get(key, {}), "fields").get("name"))
            if kind and name and other in nodes:
                named.setdefault(other, []).append(NamedEntity(name, kind))
    for key, node in nodes.items():
        for name in names_at(object_at(node, "fields"), "participants"):
            named.setdefault(key, []).append(NamedEntity(name, Entity.Kind.CHARACTER))
    return {key: tuple(dict.fromkeys(items))[:MAX_ITEMS] for key, items in named.items()}


def _read_named(found: Found, node: Mapping[str, Any], fields: Mapping[str, Any], kind: str) -> None:
    """Read a character or a place: an entity, its state, and what is said of it."""
    name = name_of(fields.get("name"))
    if not name:
        found.warn("A character or a place without a name was not read.")
        return
    found.entities.append(FoundEntity(name, kind))
    place = kind == Entity.Kind.PLACE
    sources = {"hazards": "danger"} if place else {"goal": "goal", "carried": "inventory"}
    if states := {own: value for own, key in sources.items() if (value := text_at(fields, key, 500))}:
        found.states.append(StateLine(name, kind, states))
    for key in ("features", "state") if place else ("traits", "core_note", "state"):
        if text := text_at(fields, key):
            lasting = not place and key != "state"
            found.memories.append(
                FoundMemory(
                    tier=Memory.Tier.LONG_TERM if lasting else Memory.Tier.SESSION,
                    kind=Memory.Kind.FACT if lasting else Memory.Kind.DETAIL,
                    text=f"{name}: {text}",
                    importance=_importance(node),
                    entities=(NamedEntity(name, kind),),
                    span=_span_of(node),
                )
            )


def _read_thread(found: Found, node: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    title, summary, status = (text_at(fields, key) for key in ("title", "summary", "status"))
    if not title and not summary:
        found.warn("A node without a text was not read.")
        return
    ended = status in ("completed", "abandoned")
    outcome = " ".join(filter(None, ["Abandoned." if status == "abandoned" else "", summary])) if ended else ""
    text = title if ended and title else ": ".join(filter(None, [title, summary]))
    found.arcs.append(FoundArc(text, ended, outcome, span=_span_of(node)))


def _memory(
    node: Mapping[str, Any], kind: str, fields: Mapping[str, Any], entities: tuple[NamedEntity, ...]
) -> FoundMemory | None:
    """Return an event, a rule, a reflection or a node of an unknown type as a memory, or None without a text."""
    lasting = kind == "rule"
    memory_kind = {
        "rule": Memory.Kind.FACT,
        "event": Memory.Kind.DEVELOPMENT,
        "reflection": Memory.Kind.REVELATION,
    }.get(kind, Memory.Kind.DETAIL)
    body = next(filter(None, (text_at(fields, key) for key in ("summary", "constraint", "insight"))), "")
    title = text_at(fields, "title")
    text = ": ".join(filter(None, [title if body != title and kind != "event" else "", body])) or title
    if not text:
        return None
    return FoundMemory(
        tier=Memory.Tier.LONG_TERM if lasting else Memory.Tier.SESSION,
        kind=memory_kind,
        text=text,
        key=text_at(node, "id"),
        importance=_importance(node),
        entities=entities,
        known_to=(_owner_of(node),) if _owner_of(node) else (),
        span=_span_of(node),
        outdated=lasting and text_at(fields, "status") == "revoked",
    )


def _span_of(node: Mapping[str, Any]) -> Span | None:
    """Return the range of messages of a node. Graphs before version 3 have one position."""
    return span_of(node.get("seqRange")) or span_of([node.get("seq")] * 2)


def _summary_of(graph: Mapping[str, Any]) -> list[FoundText]:
    """Return the summary in the state of a graph: its entries that no later one has taken up, as one text, or none."""
    state = object_at(graph, "summaryState") or object_at(object_at(graph, "meta"), "runtimeSummaryState")
    entries = [entry for entry in objects_at(state, "entries") if text_at(entry, "status") != "folded"]
    text = "\n".join(filter(None, (text_at(entry, "text") for entry in entries)))[:MAX_TEXT]
    spans = [span for entry in entries if (span := span_of(entry.get("messageRange")))]
    last = max((span[1] for span in spans), default=None)
    return [FoundText(VersionedText.Kind.SUMMARY, text, last=last)] if text else []


def _importance(node: Mapping[str, Any]) -> int:
    """Return an importance of 0 to 10, by default 5, as one of 1 to 3: from 8 on it is pivotal."""
    number = number_at(node, "importance")
    value = 5.0 if number is None else number
    return 3 if value >= 8 else 2 if value >= 4 else 1


def _owner_of(node: Mapping[str, Any]) -> str:
    """Return the name of the character from whose point of view a node is told, or an empty string."""
    scope = object_at(node, "scope")
    return name_of(scope.get("ownerName")) if scope.get("layer") == "pov" else ""
