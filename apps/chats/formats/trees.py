"""Turn conversations that branch into messages: the current path, with its alternatives as versions (swipes)."""

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
        for node in nodes:
            self._children.setdefault(self._parents.get(node), []).append(node)
        self._used: set[str] = set()

    def parsed_messages(self, leaf: Any, name: str, report: Report) -> Iterator[ParsedMessage]:
        """Yield the messages from the root to `leaf`, or to the newest node if `leaf` is not in the tree.

        `name` is the assistant's name. After the last message, warn of each that is neither on this path nor on a
        branch next to it.
        """
        path = self._path(leaf if isinstance(leaf, str) and leaf in self._nodes else self._newest())
        for _, run in groupby(path, key=lambda node: self._nodes[node].is_user):
            for turn in self._messages_of_run(list(run)):
                yield build_message(USER if turn.is_user else name, turn.is_user, turn.versions, turn.active)
        for node, content in self._nodes.items():
            if content.text is not None and node not in self._used:
                report.warn(
                    report.messages, "A message was left out: it belongs to a branch that was not the current one."
                )

    def _newest(self) -> str:
        """Return the end of the last branch, or if all nodes form a cycle, the last node."""
        starts = self._children.get(None)
        return self._follow(starts[-1])[-1] if starts else next(reversed(list(self._nodes)))

    def _follow(self, node: str, same_speaker: bool = False) -> list[str]:
        """Follow the last child of each node from `node` to a leaf, or with `same_speaker` to a change of speaker."""
        chain = {node: None}  # a dict as an ordered set
        current = node
        while children := self._children.get(current):
            current = children[-1]
            if current in chain or (same_speaker and self._nodes[current].is_user != self._nodes[node].is_user):
                break
            chain[current] = None
        return list(chain)

    def _path(self, leaf: str) -> list[str]:
        """Return the nodes from the root to `leaf`."""
        path: dict[str, None] = {}
        current: str | None = leaf
        while current is not None and current not in path:
            path[current] = None
            current = self._parents.get(current)
        return list(reversed(path))

    def _messages_of_run(self, run: list[str]) -> Iterator[TreeMessage]:
        """Yield the messages of a speaker's successive nodes: one for each node, or a single one if the run branches.

        A branch and the run may differ in length, so that their nodes can't be matched one to one.
        """
        is_user = self._nodes[run[0]].is_user
        before, after = self._alternatives(run)
        if before or after:
            current = self._version(run)
            versions = [*before, *([current] if current else []), *after]
            yield TreeMessage(is_user, versions, min(len(before), len(versions) - 1))
            return
        start = 0
        for end, node in enumerate(run, 1):
            if self._nodes[node].text is not None:
                version = self._version(run[start:end])
                start = end
                if version:
                    yield TreeMessage(is_user, [version])

    def _alternatives(self, run: list[str]) -> tuple[list[Version], list[Version]]:
        """Return the other versions of `run`: those before it in the order of the file, and those after."""
        before: list[Version] = []
        after: list[Version] = []
        size = 0
        for position, sibling, is_later in self._siblings(run):
            branch = self._follow(sibling, same_speaker=True)
            size += position + len(branch)
            if size <= MAX_NODES_PER_MESSAGE and any(self._nodes[key].text is not None for key in branch):
                (after if is_later else before).extend(filter(None, [self._version(run[:position] + branch)]))
        return before, after

    def _siblings(self, run: list[str]) -> Iterator[tuple[int, str, bool]]:
        """Yield the siblings of the nodes of `run`: position in it, sibling, and whether the sibling is later."""
        for position, node in enumerate(run):
            is_later = False
            for sibling in self._children[self._parents.get(node)]:
                if sibling == node:
                    is_later = True
                elif self._nodes[sibling].is_user == self._nodes[node].is_user:
                    yield position, sibling, is_later

    def _version(self, keys: list[str]) -> Version | None:
        """Join the nodes into one version. Return None if none of them has a text."""
        self._used.update(keys)
        nodes = [self._nodes[key] for key in keys]
        shown = [node for node in nodes if node.text is not None]
        if not shown:
            return None
        reasoning = "\n\n".join(node.reasoning for node in nodes if node.reasoning)
        extra = shown[0].extra | ({"reasoning": reasoning} if reasoning else {})
        text = "\n\n".join(node.text for node in shown if node.text)
        return Version(text, extra, shown[0].sent_at)
