"""What an open recall card shows: memories with links, what had no room, and the names in them as a graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from apps.chats.pages.markup import plain_text
from apps.common.scoping import Owner
from apps.common.words import Words
from apps.graph.building import graph_of
from apps.graph.layout import Picture, picture_of
from apps.memories.labels import KIND_LABELS
from apps.memories.models import Memory
from apps.prompts.models import Recall
from apps.prompts.queries import entities_by_memory, source_positions, stored_memories
from apps.prompts.reasons import shown_reasons
from apps.prompts.slots.definitions import SLOTS

MAX_LINE_LENGTH = 600  # characters; longer memories are cut off
OTHER_LABELS: Mapping[str, Words] = {"said": _("Said")}  # of passages of the chat
SLOT_LABELS = {slot.name: slot.label for slot in SLOTS}


@dataclass(frozen=True)
class RecallLine:
    """One recalled memory or passage.

    ``url`` links to its source message and ``memory_url`` to the memory; they are empty for what was deleted.
    ``memory`` is None for that, and for a passage.
    ``budget`` is the number of tokens of its slot if it had no room.
    """

    kind: Words
    text: str
    why: str
    score: float
    slot: Words
    url: str
    memory_url: str
    memory: Memory | None
    budget: int | None


@dataclass(frozen=True)
class NamedEntity:
    """An entity that recalled memories name, these memories, and the entities that they name along with it."""

    id: str
    kind: str
    label: str
    lines: list[RecallLine]
    along_with: list[str]


@dataclass(frozen=True)
class RecallBody:
    """The entries of a recall for display.

    ``triggered`` are those that a search for the turn's text found, ``always_included`` the others, ``left_out`` the
    first of those that had no room, and ``more_left_out`` the number of the rest. ``names`` are all nodes of the graph
    in ``picture``.
    """

    triggered: list[RecallLine]
    always_included: list[RecallLine]
    left_out: list[RecallLine]
    more_left_out: int
    names: list[NamedEntity]
    picture: Picture


def body_of(owner: Owner, recall: Recall) -> RecallBody:
    """Return the body of a recall's card, in three queries."""
    positions, stored = source_positions(owner, [recall]), stored_memories(owner, [recall])
    lines = [(item, _line(item, positions, stored)) for item in recall.memories]
    entities = entities_by_memory(owner, [recall])
    graph = graph_of({item["id"]: entities[item["id"]] for item in recall.memories if item.get("id") in entities})
    return RecallBody(
        triggered=[line for item, line in lines if item["triggered"]],
        always_included=[line for item, line in lines if not item["triggered"]],
        left_out=[_line(item, positions, stored) for item in recall.left_out],
        more_left_out=recall.left_out_count - len(recall.left_out),
        names=_names(graph, lines, {pk: {entity.id for entity in named} for pk, named in entities.items()}),
        picture=picture_of(graph),
    )


def _line(
    item: Mapping[str, Any], positions: Mapping[str, tuple[UUID, int]], stored: Mapping[str, Memory]
) -> RecallLine:
    """Return an entry of a recall for display. ``stored`` are the memories that still exist by id."""
    position = positions.get(item["message"] or "")
    memory = stored.get(item.get("id", ""))
    return RecallLine(
        kind=KIND_LABELS.get(item["kind"]) or OTHER_LABELS.get(item["kind"], item["kind"]),
        text=plain_text(item["text"], MAX_LINE_LENGTH),
        why=shown_reasons(item["why"]),
        score=item["score"],
        slot=SLOT_LABELS.get(item.get("slot", ""), ""),
        url=f"{reverse('chats:detail', args=[position[0]])}?at={position[1]}" if position else "",
        memory_url=reverse("memories:detail", args=[item["id"]]) if memory else "",
        memory=memory,
        budget=item.get("budget"),
    )


def _names(
    graph: Mapping[str, list[dict[str, Any]]],
    lines: list[tuple[Mapping[str, Any], RecallLine]],
    named: Mapping[str, set[str]],
) -> list[NamedEntity]:
    """Return the nodes of a graph with their details. ``named`` are the ids of entities by memory id."""
    labels = {node["id"]: node["label"] for node in graph["nodes"]}
    return [
        NamedEntity(
            id=node["id"],
            kind=node["kind"],
            label=node["label"],
            lines=[line for item, line in lines if node["id"] in named.get(item.get("id", ""), ())],
            along_with=[
                labels[edge["target"] if edge["source"] == node["id"] else edge["source"]]
                for edge in graph["edges"]
                if node["id"] in (edge["source"], edge["target"])
            ],
        )
        for node in graph["nodes"]
    ]
