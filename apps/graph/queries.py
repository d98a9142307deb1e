"""Read the graph of a chat, a character, a memory or a namespace."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.chats.models import Character, Chat
from apps.common.scoping import OWN_NAMESPACE, Owner
from apps.graph.building import GraphEntity, graph_of
from apps.llm.generation import BUILTIN
from apps.memories.models import Entity, Memory, Relationship
from apps.memories.queries.guesses import divided_pairs
from apps.memories.queries.relationships import relationships_in, relationships_of

MAX_NODES = 500
MAX_EDGES = 2000
MAX_MEMORIES = 50  # of an edge


@dataclass(frozen=True)
class GraphScope:
    """What a graph is about; without a chat, a character or a memory, all of a namespace."""

    chat: Chat | None = None
    character: Character | None = None
    memory: Memory | None = None
    namespace: str = OWN_NAMESPACE

    @property
    def is_of_namespace(self) -> bool:
        """Return whether it is about all of a namespace."""
        return not (self.chat or self.character or self.memory)


def read_graph(owner: Owner, scope: GraphScope) -> dict[str, Any]:
    """Return nodes and edges, those with most memories first, and how many were left out.

    Two entities are linked if an active memory names both, and by the descriptors of their relationship. The graph of
    a memory has what it names, and what other memories name together with that.
    """
    memories = _memories(owner, scope)
    graph = graph_of(_entities_by_memory(owner, memories))
    entities = {node["id"]: node for node in graph["nodes"]}
    together = {frozenset((edge["source"], edge["target"])): edge["memories"] for edge in graph["edges"]}
    relations = [
        edge
        for edge in _relations(owner, scope, together)
        if scope.memory is None or {edge["source"], edge["target"]} <= entities.keys()
    ]
    for node in _ends_without_memories(owner, relations, entities):
        entities[node["id"]] = node
    nodes = list(entities.values())
    shown = {node["id"] for node in nodes[:MAX_NODES]}
    edges = sorted([*relations, *graph["edges"]], key=lambda edge: -len(edge["memories"]))
    kept = [edge for edge in edges if edge["source"] in shown and edge["target"] in shown][:MAX_EDGES]
    return {
        "nodes": nodes[:MAX_NODES],
        "edges": [{"messages": [], **edge, "memories": edge["memories"][:MAX_MEMORIES]} for edge in kept],
        "left_out": {"nodes": len(nodes) - len(shown), "edges": len(edges) - len(kept)},
    }


def _memories(owner: Owner, scope: GraphScope) -> QuerySet[Memory]:
    rows = Memory.objects.for_owner(owner)
    rows = rows.active_in(scope.chat) if scope.chat else rows.active()
    if scope.is_of_namespace:
        rows = rows.in_namespace(scope.namespace)
    if scope.character:
        rows = rows.filter(character=scope.character)
    if scope.memory:
        named = Entity.objects.for_owner(owner).filter(memories=scope.memory)
        rows = rows.filter(entities__in=named.values("pk"))
    return rows


def _entities_by_memory(owner: Owner, memories: QuerySet[Memory]) -> dict[str, list[GraphEntity]]:
    """Return the entities of each memory, the newest memory first."""
    found: dict[str, list[GraphEntity]] = {}
    rows = Entity.objects.for_owner(owner).filter(memories__in=memories.values("pk")).order_by("-memories", "pk")
    for pk, kind, name, memory in rows.values_list("pk", "kind", "name", "memories"):
        found.setdefault(str(memory), []).append(GraphEntity(str(pk), kind, name))
    return found


def _relations(owner: Owner, scope: GraphScope, together: dict[frozenset[str], list[str]]) -> list[dict[str, Any]]:
    """Return an edge for each directed pair with a relationship, with the messages that it comes from."""
    edges: dict[tuple[UUID, UUID], dict[str, Any]] = {}
    for row in _relationships(owner, scope):
        ends = str(row.subject_id), str(row.target_id)
        edge = edges.setdefault(
            (row.subject_id, row.target_id),
            {
                "source": ends[0],
                "target": ends[1],
                "relation": "",
                "memories": together.get(frozenset(ends), []),
                "messages": [],
            },
        )
        edge["relation"] = ", ".join(filter(None, [edge["relation"], row.descriptor]))
        if row.source_id and str(row.source_id) not in edge["messages"]:
            edge["messages"].append(str(row.source_id))
    return list(edges.values())


def _relationships(owner: Owner, scope: GraphScope) -> Iterable[Relationship]:
    """Return the relationships of a scope, without those that the built-in reader guessed."""
    if scope.chat or scope.character:
        pairs = relationships_in(scope.chat) if scope.chat else relationships_of(scope.character)  # type: ignore[arg-type]
        return [row for pair in divided_pairs(pairs)[0] for row in pair.descriptors]
    rows = Relationship.objects.for_owner(owner).filter(state=Relationship.State.CURRENT, chat__deleted_at=None)
    rows = rows.exclude(run__backend=BUILTIN, edited_by="")
    if scope.is_of_namespace:
        of_chat, of_character = (
            Q(subject__chat__namespace=scope.namespace),
            Q(subject__character__namespace=scope.namespace),
        )
        rows = rows.filter(of_chat | of_character)
    return rows.order_by("pk")


def _ends_without_memories(
    owner: Owner, relations: list[dict[str, Any]], known: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return nodes for those in relationships that no active memory names."""
    missing = {edge[end] for edge in relations for end in ("source", "target")} - known.keys()
    rows = Entity.objects.for_owner(owner).filter(pk__in=missing).order_by("name", "pk") if missing else []
    return [{"id": str(row.pk), "kind": row.kind, "label": row.name, "weight": 0} for row in rows]
