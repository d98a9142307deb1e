"""The page of a memory book that shows its graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.common.scoping import Owner
from apps.graph.layout import picture_of
from apps.graph.queries import GraphScope, read_graph
from apps.memories.models import Memory
from apps.memories.views.access import own_book

MAX_CONNECTIONS = 100
MAX_LISTED_MEMORIES = 5  # of a connection


@dataclass(frozen=True)
class ShownEdge:
    """An edge for display, with the first of its memories and the number of the others."""

    source: Mapping[str, Any]
    target: Mapping[str, Any]
    relation: str
    memories: list[Memory]
    more: int


@login_required
@require_safe
def graph(request: HttpRequest, **scope: UUID) -> HttpResponse:
    """Show what the memories of a chat or a character name, as a picture and as a list of connections.

    With ``?name=``, the id of a node, only that one and those that are connected with it.
    """
    book = own_book(request, **scope)
    found = read_graph(book.owner_id, GraphScope(book.chat) if book.chat else GraphScope(character=book.character))
    chosen = next((node for node in found["nodes"] if node["id"] == request.GET.get("name")), None)
    if chosen is not None:
        found = _around(chosen["id"], found)
    context = {
        "book": book,
        "chat": book.chat,
        "character": book.character,
        "tab": "names",
        "nodes": found["nodes"],
        "chosen": chosen,
        "picture": picture_of(found),
        "connections": _connections(book.owner_id, found),
        "more_connections": max(len(found["edges"]) - MAX_CONNECTIONS, 0) + found["left_out"]["edges"],
        "names_url": book.url("names"),
    }
    return render(request, "graph/index.html", context)


def _around(name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a graph that consists of a node and of those that are connected with it."""
    edges = [edge for edge in found["edges"] if name in (edge["source"], edge["target"])]
    near = {name, *(end for edge in edges for end in (edge["source"], edge["target"]))}
    nodes = [node for node in found["nodes"] if node["id"] in near]
    return {**found, "nodes": nodes, "edges": edges, "left_out": {"nodes": 0, "edges": 0}}


def _connections(owner: Owner, found: Mapping[str, Any]) -> list[ShownEdge]:
    """Return the first edges with their memories, read in one query."""
    nodes = {node["id"]: node for node in found["nodes"]}
    edges = found["edges"][:MAX_CONNECTIONS]
    ids = {pk for edge in edges for pk in edge["memories"][:MAX_LISTED_MEMORIES]}
    rows = Memory.objects.for_owner(owner).filter(pk__in=ids).only("pk", "text", "owner_id")
    memories = {str(memory.pk): memory for memory in rows}
    return [
        ShownEdge(
            nodes[edge["source"]],
            nodes[edge["target"]],
            edge["relation"],
            [memories[pk] for pk in edge["memories"][:MAX_LISTED_MEMORIES] if pk in memories],
            max(len(edge["memories"]) - MAX_LISTED_MEMORIES, 0),
        )
        for edge in edges
    ]
