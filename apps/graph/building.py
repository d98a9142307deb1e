"""Build a graph of entities that memories name, linked if one names both. Without database access."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any


@dataclass(frozen=True)
class GraphEntity:
    """An entity that a memory names."""

    id: str
    kind: str
    label: str


def graph_of(entities_by_memory: Mapping[str, Sequence[GraphEntity]]) -> dict[str, list[dict[str, Any]]]:
    """Return the nodes and edges as JSON values, given the entities by memory id.

    A node's ``weight`` is the number of memories that name it. An edge lists the memories that name both its ends.
    """
    weights = Counter(entity for entities in entities_by_memory.values() for entity in set(entities))
    memories_of_pair: dict[tuple[str, str], list[str]] = {}
    for memory, entities in entities_by_memory.items():
        for pair in combinations(sorted({entity.id for entity in entities}), 2):
            memories_of_pair.setdefault(pair, []).append(memory)
    return {
        "nodes": [
            {"id": entity.id, "kind": entity.kind, "label": entity.label, "weight": weight}
            for entity, weight in weights.most_common()
        ],
        "edges": [
            {"source": source, "target": target, "relation": "named together", "memories": memories}
            for (source, target), memories in memories_of_pair.items()
        ],
    }
