"""What a statement claims, as far as rules can tell: of whom, about what, which value. Pure.

A claim is about something that has one value at a time: where somebody lives, what they do, whom they are with, who
has a thing, when something takes place. Two claims with the same key and different values can't both hold now.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache

from apps.memories.claims import health, homes, looks, opposites, partners, ranks, things, work
from apps.memories.claims.claim import Claim
from apps.memories.claims.predicate import parts
from apps.memories.wording import Clause

__all__ = ["Claim", "claims"]

_READERS: list[Callable[[Clause], Iterator[Claim]]] = [
    homes.read_home,
    homes.read_company,
    work.read_work,
    work.read_studies,
    looks.read_clothes,
    partners.read_partner,
    ranks.read_rank,
    health.read_life,
    health.read_health,
    things.read_keeping,
    things.read_place,
    things.read_when,
    things.read_name,
    looks.read_age,
    things.read_count,
    things.read_quality,
    things.read_weather,
    looks.read_looks,
    opposites.read_poles,
    opposites.read_attitude,
]


@lru_cache(maxsize=4096)
def claims(text: str) -> tuple[Claim, ...]:
    """The claims of a statement, in the order of its clauses."""
    return tuple(claim for clause in parts(text) for read in _READERS for claim in read(clause))
