"""Convert branching conversations to messages: the current path, with alternatives as swipes."""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from apps.chats.formats.conversion import USER, Version, build_message
from apps.chats.formats.parsed import ParsedMessage, Report

# Nodes in all versions of a message together. Each version repeats the nodes before its branch, so that their
# number could grow with the square of the file's size.
MAX_NODES_PER_MESSAGE = 5000


@dataclass(frozen=True)
class Node:
    """A node of a conversation. `text` is None if it shows nothing, such as a tool call or its result."""

    is_user: bool
    text: str | None = None
    reasoning: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    sent_at: dt.datetime | None = None


@dataclass(frozen=True)
class TreeMessage:
    """A message of the current path: its speaker, its versions and the index of the active one."""

    is_user: bool
    versions: list[Version]
    active: int = 0


class Tree:
    """The nodes of a conversation by id, in the order of the file, and the parent of each.

    Parents may form a cycle in a damaged file, so every traversal stops at a node that it has already visited.
    """

    def __init__(self, nodes: Mapping[str, Node], parents: Mapping[str, str]) -> None:
        self._nodes = nodes
        self._parents = {child: parent for child, parent in parents.items() if parent in nodes}
        self._children: dict[str | None, list[str]] = {}
        for node_id in nodes:
            self._children.setdefault(self._parents.get(node_id), []).append(node_id)
        self._used: set[str] = set()

    def parsed_messages(self, leaf_id: Any, name: str, report: Report) -> Iterator[ParsedMessage]:
        """Yield the messages from the root to `leaf_id`, or to the newest node if `leaf_id` is not in the tree.

        `name` is the assistant's name. After the last message, report each node with text that is neither on the path
        nor an alternative to a message on it.
        """
        path = self._path(leaf_id if isinstance(leaf_id, str) and leaf_id in self._nodes else self._newest())
        for _, same_speaker_ids in groupby(path, key=lambda node_id: self._nodes[node_id].is_user):
            for turn in self._messages_of(list(same_speaker_ids)):
                yield build_message(USER if turn.is_user else name, turn.is_user, turn.versions, turn.active)
        for node_id, node in self._nodes.items():
            if node.text is not None and node_id not in self._used:
                report.warn(
                    report.messages, "A message was left out: it belongs to a branch that was not the current one."
                )

    def _newest(self) -> str:
        """Return the end of the last branch, or if all nodes form a cycle, the last node."""
        starts = self._children.get(None)
        return self._follow(starts[-1])[-1] if starts else next(reversed(list(self._nodes)))

    def _follow(self, node_id: str, same_speaker: bool = False) -> list[str]:
        """Follow the last children from `node_id` to a leaf, or with `same_speaker` until the speaker changes."""
        chain = {node_id: None}  # a dict as an ordered set
        current = node_id
        while children := self._children.get(current):
            current = children[-1]
            if current in chain or (same_speaker and self._nodes[current].is_user != self._nodes[node_id].is_user):
                break
            chain[current] = None
        return list(chain)

    def _path(self, leaf_id: str) -> list[str]:
        """Return the nodes from the root to `leaf_id`."""
        path: dict[str, None] = {}
        current: str | None = leaf_id
        while current is not None and current not in path:
            path[current] = None
            current = self._parents.get(current)
        return list(reversed(path))

    def _messages_of(self, same_speaker_ids: list[str]) -> Iterator[TreeMessage]:
        """Yield the messages of a speaker's successive nodes: one for each node, or a single one if they have branches.

        A branch and the nodes may differ in number, so that they can't be matched one to one.
        """
        is_user = self._nodes[same_speaker_ids[0]].is_user
        before, after = self._alternatives(same_speaker_ids)
        if before or after:
            current = self._version(same_speaker_ids)
            versions = [*before, *([current] if current else []), *after]
            yield TreeMessage(is_user, versions, min(len(before), len(versions) - 1))
            return
        start = 0
        for end, node_id in enumerate(same_speaker_ids, 1):
            if self._nodes[node_id].text is not None:
                version = self._version(same_speaker_ids[start:end])
                start = end
                if version:
                    yield TreeMessage(is_user, [version])

    def _alternatives(self, same_speaker_ids: list[str]) -> tuple[list[Version], list[Version]]:
        """Return the other versions of the nodes: those before them in the order of the file, and those after."""
        before: list[Version] = []
        after: list[Version] = []
        size = 0
        for position, sibling_id, is_later in self._siblings(same_speaker_ids):
            branch = self._follow(sibling_id, same_speaker=True)
            size += position + len(branch)
            if size <= MAX_NODES_PER_MESSAGE and any(self._nodes[node_id].text is not None for node_id in branch):
                version = self._version(same_speaker_ids[:position] + branch)
                (after if is_later else before).extend(filter(None, [version]))
        return before, after

    def _siblings(self, same_speaker_ids: list[str]) -> Iterator[tuple[int, str, bool]]:
        """Yield the siblings of the nodes: position of the node, id of the sibling, whether the sibling is later."""
        for position, node_id in enumerate(same_speaker_ids):
            is_later = False
            for sibling_id in self._children[self._parents.get(node_id)]:
                if sibling_id == node_id:
                    is_later = True
                elif self._nodes[sibling_id].is_user == self._nodes[node_id].is_user:
                    yield position, sibling_id, is_later

    def _version(self, node_ids: list[str]) -> Version | None:
        """Join the nodes into one version. Return None if none of them has a text."""
        self._used.update(node_ids)
        nodes = [self._nodes[node_id] for node_id in node_ids]
        shown = [node for node in nodes if node.text is not None]
        if not shown:
            return None
        reasoning = "\n\n".join(node.reasoning for node in nodes if node.reasoning)
        extra = shown[0].extra | ({"reasoning": reasoning} if reasoning else {})
        text = "\n\n".join(node.text for node in shown if node.text)
        return Version(text, extra, shown[0].sent_at)
