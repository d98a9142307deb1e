"""What memories are chosen for."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.search.service import NO_VECTORS, QueryVectors


@dataclass(frozen=True)
class Wanted:
    """What a turn wants memories for: the vectors and the trigger words of its text, and ids that it requires.

    ``near`` are the ids of all memories that are near to the text, of which the required ones are the nearest.
    """

    words: Sequence[str] = ()
    vectors: QueryVectors = NO_VECTORS
    required: Collection[UUID] = ()
    near: Collection[UUID] = ()
