"""Does a newer statement replace an older one? Pure, by rules.

It does where both claim different values of something that has one value at a time (``claims``); where the newer one
says that what the older one tells of is over, gone, or dead (``endings``, ``losses``, ``deaths``); where they are built
alike and exclude each other (``contrasts``); and where it settles a plan or a question (``outcomes``).
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from apps.memories.claims import Claim, claims
from apps.memories.claims.claim import Words, content, owners, phrases
from apps.memories.claims.contrasts import contrast
from apps.memories.claims.deaths import outlived
from apps.memories.claims.endings import gives_up
from apps.memories.claims.losses import takes_away
from apps.memories.claims.outcomes import settled
from apps.memories.claims.predicate import is_negated
from apps.memories.wording import clauses, content_words


@dataclass(frozen=True)
class Change:
    """The newer statement replaces the older one; ``reason`` says by what rule. ``by_words``: words in common are all
    that tells that both speak of the same, which must then be alike in other ways too."""

    reason: str
    by_words: bool = False


@lru_cache(maxsize=8192)
def change_between(old: str, new: str) -> Change | None:
    """Whether ``new``, said later, replaces ``old``; None where both may hold."""
    if "?" in old or "?" in new or _says_the_same(old, new):
        return None
    return (
        _changed_claim(old, new) or _ended(old, new) or _contrast(old, new) or _settled(old, new) or _exposed(old, new)
    )


def _says_the_same(old: str, new: str) -> bool:
    return content_words(old) == content_words(new) and is_negated(_plain(old)) == is_negated(_plain(new))


def _changed_claim(old: str, new: str) -> Change | None:
    for before, after in product(claims(old), claims(new)):
        if _same_key(before, after) and _exclude(before, after):
            return Change(before.attribute)
    return None


def _same_key(before: Claim, after: Claim) -> bool:
    if {before.attribute, after.attribute} == {"keeping", "having"}:
        return (before.moves or after.moves) and _same_thing(before, after) and _same_subject(before, after)
    if before.attribute != after.attribute or before.attribute == "having":
        return False
    if before.attribute == "clothes" and not after.moves:
        return False
    if before.attribute == "keeping":
        return _same_thing(before, after) and _same_hands(before, after)
    return _same_thing(before, after) and _same_subject(before, after)


def _same_subject(before: Claim, after: Claim) -> bool:
    """A name in common, or the same things; never one thing of two owners."""
    one, two = before.subject, after.subject
    if not one and not two:
        return bool(before.thing)
    owners_one, owners_two = owners(one), owners(two)
    if owners_one and owners_two and not owners_one & owners_two:
        return False
    if one == two:
        return True
    shared = (one - owners_one) & (two - owners_two)
    if shared & before.names & after.names:
        return True
    return bool(shared) and not _conflict(one - owners_one, two - owners_two)


def _same_thing(before: Claim, after: Claim) -> bool:
    one, two = before.thing, after.thing
    if not one or not two:
        return before.attribute in ("work", "health") or (not one and not two)
    hers, his = owners(one), owners(two)
    if hers and his and not hers & his:
        return False
    return one == two or (bool((one - hers) & (two - his)) and not _conflict(one - hers, two - his))


def _same_hands(before: Claim, after: Claim) -> bool:
    """What is given or lost is the holder's to give; what is found, the loser's."""
    if not after.moves or not after.subject:
        return True
    return bool(before.value & after.subject) or before.value == after.subject or bool(before.subject & after.subject)


def _conflict(one: Words, two: Words) -> bool:
    """Each has something that the other has not."""
    return bool(one - two) and bool(two - one)


_SETTLEMENTS = content(
    """city town village capital monastery convent castle palace forest woods mountains countryside suburbs desert
    island abroad coast farm valley camp"""
)


def _exclude(before: Claim, after: Claim) -> bool:
    """The values can't both hold: neither says the other in fewer words, and both speak of the same sort of thing."""
    one, two = before.value, after.value
    if not one or not two or one <= two or two <= one:
        return False
    if before.attribute == "work" and one & two:
        return False
    if after.moves or before.attribute not in ("home", "work") or "place" in before.thing:
        return True
    return bool(one & (before.names | _SETTLEMENTS)) == bool(two & (after.names | _SETTLEMENTS))


def _ended(old: str, new: str) -> Change | None:
    """The newer statement says that somebody stopped, left, closed or gave up what the older one tells of."""
    if gives_up(old, new):
        return Change("over", by_words=True)
    if takes_away(old, new):
        return Change("lost")
    return Change("death") if outlived(old, new) else None


def _settled(old: str, new: str) -> Change | None:
    rule = settled(old, new)
    return Change(rule, by_words=True) if rule else None


def _contrast(old: str, new: str) -> Change | None:
    rule = contrast(old, new)
    return Change(rule) if rule else None


_EXPOSES = phrases(
    "lied|lies?|lying|was never|never was|were never|truth is|pretended|pretending|made (?:it|that) up|false|impostor",
    "real name|faked|forged(?! (?:from|of|in|by|out|with))|admitted|confessed",
)


def _exposed(old: str, new: str) -> Change | None:
    """The newer statement exposes the older one, or what it tells, as untrue."""
    text = " ".join(clause.text for clause in clauses(new))
    people = frozenset(name for clause in (*clauses(old), *clauses(new)) for name in clause.names)
    shared = content(_plain(old)) & content(_plain(new))
    about_the_same = shared & content(" ".join(people)) and shared - content(" ".join(people)) - owners(shared)
    exposes = _EXPOSES.search(text) and not _EXPOSES.search(_plain(old))
    return Change("exposed") if exposes and about_the_same and _copula(old) else None


def _copula(text: str) -> bool:
    return bool(re.search(r"\b(?:is|was|am|are|were|said|died|has been)\b", _plain(text)))


def _plain(text: str) -> str:
    return " ".join(clause.text for clause in clauses(text))
