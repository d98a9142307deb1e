"""Place the entities of a graph in a picture. Without database access."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]

WIDTH = 360  # of the picture, in its own units
MARGIN_X, MARGIN_Y = 62, 22  # half of the longest label fits beside the outermost nodes
MAX_NODES = 60  # the entities named most often
MAX_LABEL = 16  # characters
CHARACTER_WIDTH, LINE_HEIGHT = 6.2, 13
MAX_BOLD_EDGES = 80  # more are drawn fainter
STEPS = 150


@dataclass(frozen=True)
class PlacedNode:
    """An entity in the picture. ``labelled`` is False if its label would cover another one."""

    id: str
    kind: str
    label: str
    weight: int
    x: int
    y: int
    radius: int
    labelled: bool

    @property
    def short_label(self) -> str:
        return self.label if len(self.label) <= MAX_LABEL else f"{self.label[: MAX_LABEL - 1]}…"

    @property
    def label_y(self) -> int:
        return self.y + self.radius + LINE_HEIGHT - 2


@dataclass(frozen=True)
class PlacedEdge:
    """A line between two entities. ``weight`` is the number of memories that name both, at most 4."""

    x1: int
    y1: int
    x2: int
    y2: int
    weight: int


@dataclass(frozen=True)
class Picture:
    """A graph as it is drawn. ``missing`` is the number of entities that it has no room for."""

    height: int
    nodes: list[PlacedNode]
    edges: list[PlacedEdge]
    missing: int
    width: int = WIDTH

    @property
    def is_dense(self) -> bool:
        return len(self.edges) > MAX_BOLD_EDGES


def picture_of(graph: Mapping[str, Sequence[Mapping[str, Any]]]) -> Picture:
    """Return the picture of a graph as ``graph_of`` returns it. The same graph has the same picture."""
    nodes = graph["nodes"][:MAX_NODES]
    numbers = {node["id"]: number for number, node in enumerate(nodes)}
    edges = [edge for edge in graph["edges"] if edge["source"] in numbers and edge["target"] in numbers]
    height = min(140 + 7 * len(nodes), 480)
    pairs = [(numbers[edge["source"]], numbers[edge["target"]]) for edge in edges]
    points = _scaled(_spread(len(nodes), pairs), height)
    placed = _labelled([_node(node, x, y) for node, (x, y) in zip(nodes, points, strict=True)])
    lines = [
        PlacedEdge(placed[a].x, placed[a].y, placed[b].x, placed[b].y, min(len(edge["memories"]), 4))
        for edge, (a, b) in zip(edges, pairs, strict=True)
    ]
    return Picture(height, placed, lines, missing=len(graph["nodes"]) - len(nodes))


def _node(node: Mapping[str, Any], x: int, y: int) -> PlacedNode:
    radius = 4 + min(node["weight"], 6)
    return PlacedNode(node["id"], node["kind"], node["label"], node["weight"], x, y, radius, labelled=False)


def _spread(count: int, pairs: Sequence[tuple[int, int]]) -> Points:
    """Return points that repel each other and are attracted along ``pairs`` (Fruchterman and Reingold, 1991)."""
    turns = np.arange(count) * 2.39996  # the golden angle: no two points begin at the same place
    points = np.sqrt(np.arange(count) + 0.5)[:, None] * np.column_stack([np.cos(turns), np.sin(turns)])
    ends = np.array(pairs, dtype=int).reshape(-1, 2)
    for step in range(STEPS):
        away = points[:, None] - points[None]
        distances = np.maximum(np.linalg.norm(away, axis=2), 0.01)
        force = (away / distances[..., None] ** 2).sum(axis=1) - points * 0.05
        pull = (points[ends[:, 0]] - points[ends[:, 1]]) * 0.25
        np.add.at(force, ends[:, 0], -pull)
        np.add.at(force, ends[:, 1], pull)
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 0.01)
        points = points + force / length * np.minimum(length, 1 - step / STEPS)
    return points


def _scaled(points: Points, height: int) -> list[tuple[int, int]]:
    """Return points that fill the picture up to its margins, as whole numbers."""
    if len(points) < 2:
        return [(WIDTH // 2, height // 2)] * len(points)
    low, size = points.min(axis=0), np.maximum(np.ptp(points, axis=0), 0.01)
    room = np.array([WIDTH - 2 * MARGIN_X, height - 2 * MARGIN_Y - LINE_HEIGHT])
    return [(round(x) + MARGIN_X, round(y) + MARGIN_Y) for x, y in ((points - low) / size * room).tolist()]


def _labelled(nodes: Sequence[PlacedNode]) -> list[PlacedNode]:
    """Return the nodes, the first with its label, and each later one if its label covers no other label and no node."""
    labelled: list[PlacedNode] = []
    for node in nodes:
        clear = not any(_covers(node, other) for other in nodes)
        free = clear and not any(_overlap(node, other) for other in labelled if other.labelled)
        labelled.append(replace(node, labelled=free or not labelled))
    return labelled


def _covers(node: PlacedNode, other: PlacedNode) -> bool:
    """Return whether the label of a node is on another node."""
    width = len(node.short_label) / 2 * CHARACTER_WIDTH + other.radius
    height = LINE_HEIGHT / 2 + other.radius
    return other is not node and abs(node.x - other.x) < width and abs(node.label_y - 4 - other.y) < height


def _overlap(node: PlacedNode, other: PlacedNode) -> bool:
    width = (len(node.short_label) + len(other.short_label)) / 2 * CHARACTER_WIDTH
    return abs(node.x - other.x) < width and abs(node.label_y - other.label_y) < LINE_HEIGHT
