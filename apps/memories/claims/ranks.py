"""What statements claim of who stands above whom: somebody's boss, whom somebody works for. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import Claim, claim, content, negated, owners, people, phrases
from apps.memories.lexicon import verbs
from apps.memories.wording import USER, Clause

_SUPERIOR = "(?:boss|manager|employer|supervisor|superior|commander|commanding officer|master|mistress|liege|landlord)"
_INFERIOR = "(?:employee|assistant|subordinate|deputy|servant|underling|apprentice|vassal|tenant|right hand)"
_ABOVE = phrases(
    rf"(?:is|are|am|became|becomes) (?:\S+'s (?:\w+ )?{_SUPERIOR}|the {_SUPERIOR} of)",
    verbs("supervise, employ, command, outrank"),
)
_BELOW = phrases(
    rf"(?:is|are|am|became|becomes) (?:\S+'s (?:\w+ )?{_INFERIOR}|the {_INFERIOR} (?:of|to)|(?:\w+ )?employed by)",
    verbs("work, slave") + " (?:for|under)|" + verbs("report, answer") + " to|" + verbs("serve") + "(?: under)?",
    verbs("take") + " orders from",
)
_BESIDE = phrases(r"(?:is|are|am|became|becomes) \S+'s (?:\w+ )?(?:equal|peer)")
_NOBODY = frozenset(["nobody"])
_PAIR = 2


def read_rank(clause: Clause) -> Iterator[Claim]:
    """Of two that are named, who is above the other."""
    beside, above, below = (pattern.search(clause.text) for pattern in (_BESIDE, _ABOVE, _BELOW))
    match = beside or above or below
    both = people(clause)
    if match is None or len(both) != _PAIR or negated(clause):
        return
    first = content(clause.text[: match.start()]) & both
    if len(first) != 1 or _is_of_another(clause.text[: match.start()]):
        return
    upper = _NOBODY if beside else first if above else both - first
    yield claim(clause, "rank", frozenset(), upper, thing=both)


def _is_of_another(said: str) -> bool:
    """Mira's brother is not Mira."""
    return bool(owners(said.split())) or bool(re.search(rf"\b{USER}'s\b", said))
