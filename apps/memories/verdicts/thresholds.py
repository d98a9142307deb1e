"""How similar statements must be to repeat each other, or to be on the same topic. Without database access."""

from dataclasses import dataclass

from apps.memories.verdicts.known_statements import KnownStatement


@dataclass(frozen=True)
class Thresholds:
    """Minimum similarities of repetitions, within one kind and across two, and of statements on the same topic.

    Statements below ``same_topic`` are never repetitions or changes of each other.
    """

    duplicate: float
    cross_kind_duplicate: float
    same_topic: float

    def is_on_topic(self, known: KnownStatement) -> bool:
        """Return whether a statement is similar enough to a candidate to be on its topic."""
        return known.similarity >= (self.same_topic if known.same_kind else self.cross_kind_duplicate)


# For hardware profile A (small local models; the built-in backend). ``same_topic`` is low because the learned
# comparison itself recognises statements on different topics (figures in docs/weights.md).
COSINE = Thresholds(duplicate=0.82, cross_kind_duplicate=0.88, same_topic=0.40)
JACCARD = Thresholds(duplicate=0.65, cross_kind_duplicate=0.75, same_topic=0.40)
