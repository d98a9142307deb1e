"""What one statement says is lacking, and another says has come. Pure."""

from apps.memories.claims.predicate import Predicate, unmatched

_ARRIVES = frozenset(
    """have own get find buy receive inherit win build open arrive come move settle hire appoint adopt acquire earn
    start join employ install bring set""".split()
)


def supplies(one: Predicate, two: Predicate) -> bool:
    """Somebody, or a place, had none of what it has now: the village has no doctor, a doctor settled there."""
    lacks = one.verb in ("have", "own") and one.negated and not one.told and bool(one.rest)
    if not lacks or two.negated or two.verb not in _ARRIVES or two.owners - one.owners:
        return False
    everything = two.words | {word.removesuffix("'s") for word in two.owners}
    whose = one.subject & one.names or one.subject
    return bool(whose) and not unmatched(whose, everything) and not unmatched(one.rest, two.words)
