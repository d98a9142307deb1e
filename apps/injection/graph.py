"""The small graph of a recall: who is named in what was recalled, and who together."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any


@dataclass(frozen=True)
class Named:
    """An entity that a memory names."""

    id: str
    kind: str
    label: str


def graph_of(named: Mapping[str, Sequence[Named]]) -> dict[str, list[dict[str, Any]]]:
    """Nodes and edges from the entities of each memory, by memory id.

    A node's ``weight`` is the number of memories that name it; an edge lists those that name both of its ends.
    """
    weights = Counter(entity for entities in named.values() for entity in set(entities))
    together: dict[tuple[str, str], list[str]] = {}
    for memory, entities in named.items():
        for pair in combinations(sorted({entity.id for entity in entities}), 2):
            together.setdefault(pair, []).append(memory)
    return {
        "nodes": [
            {"id": entity.id, "kind": entity.kind, "label": entity.label, "weight": weight}
            for entity, weight in weights.most_common()
        ],
        "edges": [
            {"source": source, "target": target, "relation": "named together", "memories": memories}
            for (source, target), memories in together.items()
        ],
    }
