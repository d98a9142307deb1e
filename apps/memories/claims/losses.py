"""What a newer statement says is gone: destroyed, ended by itself, or taken from who had it. Pure."""

import re
from functools import lru_cache

from apps.memories.claims.claim import PREPOSITION, Words, content, owners, phrases
from apps.memories.claims.predicate import Predicate, parts, predicates, unmatched
from apps.memories.lexicon import verbs

_DESTROYED = verbs(
    """destroy, burn, burn down, demolish, wreck, ruin, sink, smash, shatter, collapse, tear down, sweep, flatten,
    raze, blow up, crash, total, break down, fall apart, level, crush, devour, swallow, wash away, vanish, cave in,
    perish, go up in flames, flood, bomb, topple, cut down, chop down, steal, rob, carry off, take away,
    make off with"""
)
_ENDED = verbs(
    """revoke, lift, end, expire, cancel, abolish, repeal, confiscate, seize, annul, terminate, void, discontinue,
    subside, cease, come to an end, conclude, disband, dissolve, abandon, rescind, overturn, withdraw, shut down,
    close down, adjourn, suspend, repossess, impound, run out, run dry, go bankrupt, go
    out of business, go under, go bust, fold"""
)
_CARRIED = verbs("carry, take, wash, sweep, drag")
_OVER = (
    r"(?:is|are|was|were) (?:all |finally )?(?:over|finished|no more|history)(?=$| now\b)|"
    r"(?:closed?|shut)(?= (?:for good|forever|permanently|\S+ doors|down)\b)"
)
_GONE = phrases(_DESTROYED, _ENDED, rf"{_CARRIED}(?= (?:\S+ ){{0,4}}?(?:off|away)\b)", "in (?:ruins|ashes)", _OVER)
_DEPOSED = verbs(
    """disinherit, depose, dethrone, overthrow, demote, dismiss, fire, sack, evict, disown, excommunicate, impeach,
    oust, replace, banish, exile, expel, discharge, disbar, suspend, unseat, lay off"""
)
_DEPRIVED = phrases(_DEPOSED, verbs("release, free, liberate, pardon, rescue"))
_SPOKEN_OF = phrases(_GONE.pattern, _DEPOSED)
_PASSIVE = re.compile(r"\b(?:is|was|were|are|been|got) (?:\w+ly )?$")
_HAVING = frozenset("have own keep run drive ride carry live belong wear possess hold manage sail".split())
_STANDING = frozenset("be serve work live belong lead rule command head teach run hold play imprison lock trap".split())


@lru_cache(maxsize=4096)
def _gone(text: str) -> tuple[tuple[Words, Words], ...]:
    """Of each thing that is gone, the words for it, and all others of the clause."""
    found = ((clause.text, _GONE.search(clause.text)) for clause in parts(text))
    return tuple(_patient(said, match) for said, match in found if match)


def _patient(said: str, match: re.Match[str]) -> tuple[Words, Words]:
    """What stands behind the verb; before it, where it is passive or nothing stands there."""
    before, behind = said[: match.start()], said[match.end() :]
    is_before = _PASSIVE.search(before) or not content(behind) or PREPOSITION.match(behind.strip())
    return (content(before), content(behind)) if is_before else (content(behind), content(before))


@lru_cache(maxsize=4096)
def _deprived(text: str) -> tuple[Words, ...]:
    """The words for whoever lost a place, or was let go."""
    found = ((clause.text, _DEPRIVED.search(clause.text)) for clause in parts(text))
    return tuple(
        content(said[: match.start()] if _PASSIVE.search(said[: match.start()]) else said[match.end() :])
        for said, match in found
        if match
    )


def takes_away(old: str, new: str) -> bool:
    """What the older statement describes, or says that somebody has, is gone; or somebody lost their place in it."""
    gone, deprived = _gone(new), _deprived(new)
    if not gone and not deprived:
        return False
    states = [state for state in predicates(old) if not state.told and not state.negated]
    if any(_stands_down(state, patient) for state in states for patient in deprived):
        return True
    return not _gone(old) and any(_is_gone(state, *sides) for state in states for sides in gone)


def _stands_down(state: Predicate, patient: Words) -> bool:
    return state.verb in _STANDING and bool(state.subject & state.names & patient)


def _is_gone(state: Predicate, patient: Words, others: Words) -> bool:
    """What somebody has, or else what the statement is about."""
    held = state.head in state.names and state.verb != "be"
    thing = state.rest if held else state.subject
    if held and state.verb not in _HAVING:
        return False
    return bool(thing & patient) and not unmatched(thing - owners(thing), patient | others)


def speaks_of_a_loss(text: str) -> bool:
    return any(_SPOKEN_OF.search(clause.text) for clause in parts(text))
