"""A patch of a JSON object, either a merge patch or JSON Patch operations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.common.documents import json_patch, merge_patch
from apps.common.problems import Invalid


@dataclass(frozen=True)
class DocumentPatch:
    """A merge patch (RFC 7396) or, if ``merge`` is None, the ``operations`` of a JSON Patch (RFC 6902)."""

    merge: Mapping[str, Any] | None = None
    operations: Sequence[Mapping[str, Any]] = ()

    def apply(self, document: dict[str, Any], *, max_copied: int) -> dict[str, Any]:
        """Return the patched document. ``copy`` operations may add ``max_copied`` bytes in total.

        Raise Invalid, PatchTestFailed.
        """
        if self.merge is not None:
            return merge_patch.apply(document, dict(self.merge))
        patched = json_patch.apply(document, self.operations, max_copied=max_copied)
        if not isinstance(patched, dict):
            raise Invalid.at("/operations", "The document must stay an object.")
        return patched

    @property
    def keys(self) -> set[str] | None:
        """Return the top-level keys that the patch reads or writes; None if an operation affects the whole document."""
        if self.merge is not None:
            return set(self.merge)
        pointers = [pointer for operation in self.operations for pointer in json_patch.pointers_of(operation).values()]
        paths = [json_patch.parts_of(pointer) for pointer in pointers]
        return {path[0] for path in paths} if all(paths) else None
