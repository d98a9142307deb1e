"""What a push holds, and what is reported of it."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from apps.instances.resolution import Contender, ResolutionReason


@dataclass(frozen=True)
class PushedVersion:
    """A pushed version of an item. ``pointer`` is its place in the body; ``key`` names the item.

    ``key`` holds ``category`` and ``filename``, or ``target`` and, except for tombstones, ``tier``, ``written_for`` and
    ``period``; without a period it is that of the stored item, or else the day of the version.
    """

    pointer: str
    kind: str
    key: dict[str, Any]
    version: Contender
    participating: Sequence[str] = ()
    chat: UUID | None = None

    @property
    def full_key(self) -> dict[str, Any]:
        """Return ``key`` with the period that a new item has."""
        if "tier" not in self.key:
            return self.key
        return {"period": self.version.at.astimezone(dt.UTC).date().isoformat()} | self.key


@dataclass(frozen=True)
class Overruled:
    """A version that lost, or was merged: the name of its item, the instance that won, and why."""

    id: str
    winner: str
    reason: ResolutionReason
    conflict: UUID | None = None


@dataclass(frozen=True)
class VersionReport:
    """What became of a pushed version. ``overruled`` is set if a version lost or was merged, the first time only."""

    applied: bool = False
    merged: bool = False
    overruled: Overruled | None = None


@dataclass
class PushReport:
    """What a push has changed. ``clock`` is all that Loci knows afterwards."""

    clock: dict[str, int] = field(default_factory=dict)
    applied: int = 0
    merged: int = 0
    conflicts: list[Overruled] = field(default_factory=list)

    def add(self, one: VersionReport) -> None:
        """Count what became of a version."""
        self.applied += one.applied
        self.merged += one.merged
        if one.overruled:
            self.conflicts.append(one.overruled)
