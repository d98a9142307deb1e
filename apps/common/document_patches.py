"""A change to a JSON object, in either of the two ways in which a client may write it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.common import json_patch, merge_patch
from apps.common.problems import Invalid


@dataclass(frozen=True)
class DocumentPatch:
    """``merge`` is an RFC 7396 patch; ``operations``, where they are given instead, those of RFC 6902."""

    merge: Mapping[str, Any] | None = None
    operations: Sequence[Mapping[str, Any]] = ()

    def apply(self, document: dict[str, Any], *, max_copied: int) -> dict[str, Any]:
        """The document after the patch, of which ``copy`` operations may make ``max_copied`` bytes.

        Raises Invalid, and PatchTestFailed.
        """
        if self.merge is not None:
            return merge_patch.apply(document, dict(self.merge))
        after = json_patch.apply(document, self.operations, max_copied=max_copied)
        if not isinstance(after, dict):
            raise Invalid.at("/operations", "The document must stay an object.")
        return after

    @property
    def keys(self) -> set[str] | None:
        """The top-level keys that it reads or writes; None where an operation is about all of them."""
        if self.merge is not None:
            return set(self.merge)
        pointers = [pointer for one in self.operations for pointer in json_patch.pointers_of(one).values()]
        paths = [json_patch.parts_of(pointer) for pointer in pointers]
        return {path[0] for path in paths} if all(paths) else None
