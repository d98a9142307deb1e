"""Conversations that branch: the path that was current, with the other answers on it as versions of a message."""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from apps.chats.formats.foreign import Version

# In all versions of a message together: each repeats what comes before its branch.
MAX_NODES_OF_TURN = 5000


@dataclass(frozen=True)
class Node:
    """A point of a conversation. `text` is None where there is nothing to show, as between a call and its result."""

    is_user: bool
    text: str | None = None
    reasoning: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    sent_at: dt.datetime | None = None


@dataclass(frozen=True)
class Turn:
    """A message to be: who, and its versions with the active one."""

    is_user: bool
    versions: list[Version]
    active: int = 0


class Tree:
    """The nodes by their ids, in the order of the file, and which comes after which."""

    def __init__(self, nodes: Mapping[str, Node], parents: Mapping[str, str]) -> None:
        self._nodes = nodes
        self._parents = {child: parent for child, parent in parents.items() if parent in nodes}
        self._children: dict[str | None, list[str]] = {}
        for node in nodes:
            self._children.setdefault(self._parents.get(node), []).append(node)
        self._used: set[str] = set()

    def turns(self, leaf: Any) -> Iterator[Turn]:
        """The messages from the start to `leaf`, or where that is no node, to the newest."""
        path = self._path(leaf if isinstance(leaf, str) and leaf in self._nodes else self._newest())
        for _, run in groupby(path, key=lambda node: self._nodes[node].is_user):
            yield from self._turns_of_run(list(run))

    def left_out(self) -> int:
        """How many messages are in no turn that was given; ask when the turns are used up."""
        return sum(node.text is not None and key not in self._used for key, node in self._nodes.items())

    def _newest(self) -> str:
        """The end of the last branch; where everything is a circle, the last node."""
        starts = self._children.get(None)
        return self._follow(starts[-1])[-1] if starts else next(reversed(list(self._nodes)))

    def _follow(self, node: str, same_side: bool = False) -> list[str]:
        """From a node by the last child of each to the end, or until the other side speaks."""
        chain = {node: None}  # in order; and a circle ends where it closes
        at = node
        while children := self._children.get(at):
            at = children[-1]
            if at in chain or (same_side and self._nodes[at].is_user != self._nodes[node].is_user):
                break
            chain[at] = None
        return list(chain)

    def _path(self, leaf: str) -> list[str]:
        path: dict[str, None] = {}
        at: str | None = leaf
        while at is not None and at not in path:
            path[at] = None
            at = self._parents.get(at)
        return list(reversed(path))

    def _turns_of_run(self, run: list[str]) -> Iterator[Turn]:
        """What one side says until the other does: a message each, or one of several versions where it branches."""
        is_user = self._nodes[run[0]].is_user
        before, after = self._rivals(run)
        if before or after:
            current = self._version(run)
            versions = [*before, *([current] if current else []), *after]
            yield Turn(is_user, versions, min(len(before), len(versions) - 1))
            return
        start = 0
        for end, node in enumerate(run, 1):
            if self._nodes[node].text is not None:
                version = self._version(run[start:end])
                start = end
                if version:
                    yield Turn(is_user, [version])

    def _rivals(self, run: list[str]) -> tuple[list[Version], list[Version]]:
        """The versions beside `run` that come before it in the file's order, and those behind."""
        before: list[Version] = []
        after: list[Version] = []
        size = 0
        for position, sibling, is_later in self._siblings(run):
            branch = self._follow(sibling, same_side=True)
            size += position + len(branch)
            if size <= MAX_NODES_OF_TURN and any(self._nodes[key].text is not None for key in branch):
                (after if is_later else before).extend(filter(None, [self._version(run[:position] + branch)]))
        return before, after

    def _siblings(self, run: list[str]) -> Iterator[tuple[int, str, bool]]:
        """Where `run` could have gone on otherwise: the position in it, the other node, and whether it is later."""
        for position, node in enumerate(run):
            is_later = False
            for sibling in self._children[self._parents.get(node)]:
                if sibling == node:
                    is_later = True
                elif self._nodes[sibling].is_user == self._nodes[node].is_user:
                    yield position, sibling, is_later

    def _version(self, keys: list[str]) -> Version | None:
        """The nodes as one text; None where they show nothing."""
        self._used.update(keys)
        nodes = [self._nodes[key] for key in keys]
        shown = [node for node in nodes if node.text is not None]
        if not shown:
            return None
        reasoning = "\n\n".join(node.reasoning for node in nodes if node.reasoning)
        extra = shown[0].extra | ({"reasoning": reasoning} if reasoning else {})
        text = "\n\n".join(node.text for node in shown if node.text)
        return Version(text, extra, shown[0].sent_at)
