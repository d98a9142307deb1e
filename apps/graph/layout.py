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
EVENNESS = 0.7  # exponent of distances from the middle
GAP = 6  # between circles


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
    is_above: bool = False  # its label stands over it, not below it

    @property
    def short_label(self) -> str:
        return self.label if len(self.label) <= MAX_LABEL else f"{self.label[: MAX_LABEL - 1]}…"

    @property
    def label_y(self) -> int:
        return self.y - self.radius - 4 if self.is_above else self.y + self.radius + LINE_HEIGHT - 2


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
    radii = [_radius(node) for node in nodes]
    points = _apart(_scaled(_evened(_spread(len(nodes), pairs)), height), radii, height)
    placed = _labelled([_node(node, x, y) for node, (x, y) in zip(nodes, points, strict=True)])
    lines = [
        PlacedEdge(placed[a].x, placed[a].y, placed[b].x, placed[b].y, min(len(edge["memories"]), 4))
        for edge, (a, b) in zip(edges, pairs, strict=True)
    ]
    return Picture(height, placed, lines, missing=len(graph["nodes"]) - len(nodes))


def _node(node: Mapping[str, Any], x: int, y: int) -> PlacedNode:
    return PlacedNode(node["id"], node["kind"], node["label"], node["weight"], x, y, _radius(node), labelled=False)


def _radius(node: Mapping[str, Any]) -> int:
    return 4 + min(node["weight"], 6)


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


def _evened(points: Points) -> Points:
    """Return points of which none is far out, so that the crowded middle has room."""
    points = points - points.mean(axis=0) if len(points) else points
    return points * np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 0.01) ** (EVENNESS - 1)


def _apart(points: Points, radii: Sequence[int], height: int) -> list[tuple[int, int]]:
    """Return points moved so that no circles touch, as far as there is room, as whole numbers."""
    needed = np.add.outer(radii, radii) + GAP
    upper = (WIDTH - MARGIN_X, height - MARGIN_Y - LINE_HEIGHT)
    for _ in range(STEPS):
        away = points[:, None] - points[None]
        distances = np.maximum(np.linalg.norm(away, axis=2), 0.01)
        overlap = np.maximum(needed - distances, 0)
        np.fill_diagonal(overlap, 0)
        points = points + (away / distances[..., None] * overlap[..., None]).sum(axis=1) / 3
        points = np.clip(points, (MARGIN_X, MARGIN_Y), upper)
    return [(round(x), round(y)) for x, y in points.tolist()]


def _scaled(points: Points, height: int) -> Points:
    """Return points that fill the picture up to its margins."""
    if len(points) < 2:
        return np.full((len(points), 2), (WIDTH / 2, height / 2))
    low, size = points.min(axis=0), np.maximum(np.ptp(points, axis=0), 0.01)
    room = np.array([WIDTH - 2 * MARGIN_X, height - 2 * MARGIN_Y - LINE_HEIGHT])
    scaled: Points = (points - low) / size * room + (MARGIN_X, MARGIN_Y)
    return scaled


def _labelled(nodes: Sequence[PlacedNode]) -> list[PlacedNode]:
    """Return the nodes, the first with its label, and each later one if its label covers no other label and no node."""
    labelled: list[PlacedNode] = []
    for node in nodes:
        places = [replace(node, labelled=True, is_above=is_above) for is_above in (False, True)]
        shown = [each for each in labelled if each.labelled]
        free = [
            place
            for place in places
            if place.label_y > LINE_HEIGHT
            and not any(_covers(place, other) for other in nodes)
            and not any(_overlap(place, other) for other in shown)
        ]
        labelled.append(free[0] if free else replace(node, labelled=not labelled))
    return labelled


def _covers(node: PlacedNode, other: PlacedNode) -> bool:
    """Return whether the label of a node is on another node."""
    width = len(node.short_label) / 2 * CHARACTER_WIDTH + other.radius
    height = LINE_HEIGHT / 2 + other.radius
    return other.id != node.id and abs(node.x - other.x) < width and abs(node.label_y - 4 - other.y) < height


def _overlap(node: PlacedNode, other: PlacedNode) -> bool:
    width = (len(node.short_label) + len(other.short_label)) / 2 * CHARACTER_WIDTH
    return abs(node.x - other.x) < width and abs(node.label_y - other.label_y) < LINE_HEIGHT
