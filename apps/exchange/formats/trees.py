"""Convert branching conversations to messages: the current path, with its alternatives as swipes or branches."""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from apps.chats.message_data.parsed import ParsedMessage
from apps.exchange.formats.conversion import USER, Version, build_message
from apps.exchange.formats.parsed import ImportReport, ParsedBranch

# Nodes in all versions of a message together, and in all branches. Each version repeats the nodes before its branch,
# and each branch those before it, so that their number could grow with the square of the file's size.
MAX_NODES_PER_MESSAGE = 5000
MAX_NODES_IN_BRANCHES = 200_000
MAX_BRANCHES = 200


@dataclass(frozen=True)
class Node:
    """A node of a conversation. `text` is None if it shows nothing, such as a tool call or its result.

    `name` is its speaker, where the file has it. `others` are further versions of the same message.
    """

    is_user: bool
    text: str | None = None
    reasoning: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    sent_at: dt.datetime | None = None
    name: str = ""
    others: tuple[Version, ...] = ()


@dataclass
class _Path:
    """The nodes from the root to a leaf. Those from `start` are its own, the others belong to the path `parent`.

    `alternatives` has, by the position of a speaker's first node, the other versions of what that speaker says there,
    each with whether it comes before the path's own.
    """

    nodes: list[str]
    parent: int = 0
    start: int = 0
    alternatives: dict[int, list[tuple[bool, list[str]]]] = field(default_factory=dict)


class Tree:
    """The nodes of a conversation by id, in the order of the file, and the parent of each.

    `by_name`: speakers of different names are different people, not models that take part in one role. Parents may form
    a cycle in a damaged file, so every traversal stops at a node that it has already visited.
    """

    def __init__(self, nodes: Mapping[str, Node], parents: Mapping[str, str], *, by_name: bool = False) -> None:
        self._nodes = nodes
        self._by_name = by_name
        self._parents = {child: parent for child, parent in parents.items() if parent in nodes}
        self._children: dict[str | None, list[str]] = {}
        for node_id in nodes:
            self._children.setdefault(self._parents.get(node_id), []).append(node_id)
        self._order = {node_id: number for number, node_id in enumerate(self._walk())}
        self._places: dict[str, tuple[int, int]] = {}  # of each node: its path, and its position in it
        self._paths: list[_Path] = []

    def parse(
        self, leaf_id: Any, name: str, report: ImportReport, *, ends_there: bool = False
    ) -> tuple[list[ParsedMessage], list[ParsedBranch]]:
        """Return the messages of the path through `leaf_id`, or to the newest node if that shows nothing, and branches.

        What differs from a path only in the last message is a swipe there; what goes on is a branch. `name` is that of
        the assistant. `ends_there`: the path ends at `leaf_id`, also if messages follow. ImportReport each node with a
        text that is in neither.
        """
        self._paths = [_Path(self._chosen_path(leaf_id, ends_there))]
        self._places = {node_id: (0, position) for position, node_id in enumerate(self._paths[0].nodes)}
        copied = 0
        for node_id in self._order:
            if not self._children.get(node_id) and copied <= MAX_NODES_IN_BRANCHES:
                copied += self._place(node_id)
        for node_id, node in self._nodes.items():
            if node.text is not None and node_id not in self._places:
                report.note("A message was left out: the conversation is damaged or has too many branches.")
        rendered = [self._render(path, name) for path in self._paths]
        branches = [
            ParsedBranch(path.parent - 1 if path.parent else None, self._kept(path, rendered), [m for _, m in messages])
            for path, messages in zip(self._paths[1:], rendered[1:], strict=True)
        ]
        return [message for _, message in rendered[0]], branches

    def _walk(self) -> Iterator[str]:
        """Yield the nodes that hang on a root, each before its children."""
        waiting = list(reversed(self._children.get(None, [])))
        while waiting:
            node_id = waiting.pop()
            yield node_id
            waiting += reversed(self._children.get(node_id, []))

    def _chosen_path(self, leaf_id: Any, ends_there: bool) -> list[str]:
        """Return the path through `leaf_id`, or if that has no text, the path to the newest node that has some.

        Programs may forget to move their mark along: what was said below it still follows. A damaged file may have
        nodes without a parent, of which one is marked.
        """
        if isinstance(leaf_id, str) and leaf_id in self._nodes:
            named = self._ancestry(leaf_id if ends_there else self._end_of(leaf_id), {})
            if self._has_text(named):
                return named
        roots = reversed(self._children.get(None, []))
        paths = (self._ancestry(self._end_of(root), {}) for root in roots)
        cycle = self._ancestry(next(reversed(list(self._nodes))), {})
        return next(filter(self._has_text, paths), cycle)

    def _has_text(self, node_ids: list[str]) -> bool:
        return any(self._nodes[node_id].text is not None for node_id in node_ids)

    def _end_of(self, node_id: str) -> str:
        """Return the end of the last branch below a node, or in a cycle the node itself."""
        seen = {node_id}
        current = node_id
        while children := self._children.get(current):
            current = children[-1]
            if current in seen:
                return node_id
            seen.add(current)
        return current

    def _ancestry(self, node_id: str, known: Mapping[str, Any]) -> list[str]:
        """Return the nodes from the root, or from below one that is `known`, to `node_id`."""
        path: dict[str, None] = {}
        current: str | None = node_id
        while current is not None and current not in path and current not in known:
            path[current] = None
            current = self._parents.get(current)
        return list(reversed(path))

    def _speaker(self, node_id: str) -> tuple[bool, str]:
        node = self._nodes[node_id]
        return node.is_user, node.name if self._by_name else ""

    def _place(self, leaf: str) -> int:
        """Add the nodes to `leaf` that are in no path yet: as an alternative, or as a branch. Return their number.

        Nothing is added without a text, or if there would be too much.
        """
        own = self._ancestry(leaf, self._places)
        speakers = [self._speaker(node_id) for node_id in own if self._nodes[node_id].text is not None]
        if not speakers:
            return 0
        index, position = self._places.get(self._parents.get(own[0], ""), (0, -1))
        path, following = self._paths[index], position + 1
        start = self._run_start(path, following)
        nodes = path.nodes[start:following] + own
        if following < len(path.nodes) and set(speakers) == {self._speaker(path.nodes[following])}:
            others = path.alternatives.setdefault(start, [])
            if sum(len(chain) for _, chain in others) + len(nodes) > MAX_NODES_PER_MESSAGE:
                return 0
            others.append((self._order[own[0]] < self._order.get(path.nodes[following], 0), nodes))
            self._places |= dict.fromkeys(own, (index, position))
            return len(nodes)
        if len(self._paths) > MAX_BRANCHES:
            return 0
        self._paths.append(_Path(path.nodes[:start] + nodes, index, start))
        self._places |= {node_id: (len(self._paths) - 1, following + at) for at, node_id in enumerate(own)}
        return following + len(own)

    def _run_start(self, path: _Path, position: int) -> int:
        """Return where what the speaker at a position says begins: its nodes may become one message."""
        while path.start < position < len(path.nodes) and (
            self._speaker(path.nodes[position - 1]) == self._speaker(path.nodes[position])
        ):
            position -= 1
        return position

    def _kept(self, path: _Path, rendered: list[list[tuple[int, ParsedMessage]]]) -> int:
        """Return how many messages of its parent stand before a branch."""
        parent = self._paths[path.parent]
        before = sum(start < path.start for start, _ in rendered[path.parent])
        return before + (self._kept(parent, rendered) if path.parent else 0)

    def _render(self, path: _Path, name: str) -> list[tuple[int, ParsedMessage]]:
        """Return the messages of the path's own nodes, each with the position of its first node.

        A speaker's successive nodes are a message each, or a single one if they have alternatives: these may differ in
        number, so that they can't be matched one to one.
        """
        messages: list[tuple[int, ParsedMessage]] = []
        start = path.start
        for _, group in groupby(path.nodes[path.start :], key=self._speaker):
            run = list(group)
            alternatives = path.alternatives.get(start, [])
            first = 0
            for end in [len(run)] if alternatives else range(1, len(run) + 1):
                if alternatives or self._nodes[run[end - 1]].text is not None:
                    message = self._message(run[first:end], alternatives, name)
                    messages += [(start + first, message)] if message else []
                    first = end
            start += len(run)
        return messages

    def _message(
        self, node_ids: list[str], alternatives: list[tuple[bool, list[str]]], name: str
    ) -> ParsedMessage | None:
        """Return the message of a speaker's nodes and their alternatives. Return None if none of them has a text."""
        before = [version for is_before, chain in alternatives if is_before for version in self._versions(chain)]
        after = [version for is_before, chain in alternatives if not is_before for version in self._versions(chain)]
        versions = [*before, *self._versions(node_ids), *after]
        if not versions:
            return None
        first = self._nodes[node_ids[0]]
        named = next((self._nodes[node_id].name for node_id in node_ids if self._nodes[node_id].name), "")
        speaker = named or (USER if first.is_user else name)
        return build_message(speaker, first.is_user, versions, min(len(before), len(versions) - 1))

    def _versions(self, node_ids: list[str]) -> list[Version]:
        """Join the nodes into one version, followed by others that they have. Return none if there is no text."""
        nodes = [self._nodes[node_id] for node_id in node_ids]
        shown = [node for node in nodes if node.text is not None]
        if not shown:
            return []
        reasoning = "\n\n".join(node.reasoning for node in nodes if node.reasoning)
        extra = shown[0].extra | ({"reasoning": reasoning} if reasoning else {})
        text = "\n\n".join(node.text for node in shown if node.text)
        return [Version(text, extra, shown[0].sent_at), *(other for node in shown for other in node.others)]
