"""Chainable reads of memories."""

from typing import Self

from apps.common.scoping import OwnedQuerySet


class MemoryQuerySet(OwnedQuerySet["Memory"]):  # type: ignore[name-defined]  # noqa: F821
    def present(self) -> Self:
        """Without tombstones."""
        return self.filter(deleted_at=None)

    def active(self) -> Self:
        """What is remembered now: neither superseded, retired nor deleted."""
        return self.present().filter(state="active")

    def recallable(self) -> Self:
        """What may come back in a search or a prompt."""
        return self.active().filter(hidden=False)
