"""What a newer statement puts an end to: what somebody stopped, left, gave away or broke off. Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache

from apps.memories.claims.claim import PREPOSITION, Words, content, owners, phrases
from apps.memories.claims.predicate import Predicate, parts, predicates, proper_names, unmatched
from apps.memories.lexicon import alike, verbs
from apps.memories.wording import USER, Clause

STOPPING = verbs(
    """quit, give up, stop, stop being, cease, end, finish, complete, refuse, forget, abandon, drop, scrap, break,
    break off, swear off, kick, outgrow, overcome, get over, be over, cure, solve, settle, fulfil, avenge, wean off,
    lose interest in, change his mind about, decide against, cancel, call off, postpone, put off, burn, go off"""
)
LEAVING = verbs(
    """leave, desert, flee, escape, escape from, slip out of, break out of, check out of, drop out of, graduate from,
    resign from, resign as, retire from, step down as, step down from, move out of, move away from, move on from,
    transfer from, transfer out of, switch from, defect from, walk away from, unsubscribe from, dissolve, disband,
    close, shut down"""
)
PARTING = verbs(
    """sell, lose, pawn, auction, donate, trade, trade in, return, give away, throw away, throw out, get rid of, part
    with, let go of, discard, ditch, delete, surrender, forfeit, renounce, hand over, hand in, send back, pay off,
    repay, cut off, shave off, scrape off, wash off, cast off, take off, put down, set aside, lay down"""
)
BREAKING = verbs(
    """break up with, end things with, fall out with, cut ties with, walk out on, turn against, turn on, dump, disown,
    evict, fire, dismiss, sack"""
)
_APART = verbs(
    "get, take, give, throw, put, cast, call, hand, cut, shave, send, pay, trade, wash, turn, sign, chop, let"
)
_REMOVED = (
    "(?:expelled|fired|banned|kicked out|thrown out|relieved|stripped|removed|released|freed|evicted|discharged|"
    "banished|exiled|barred|disqualified|ousted|deposed|dismissed|suspended|cut)"
)
_GIVES_UP = phrases(
    rf"(?:{STOPPING}|{LEAVING}|{PARTING}|{BREAKING})\b(?! up\b)",
    rf"{_APART}(?= (?:\S+ ){{1,4}}?(?:away|off|down|back|out|in|go)\b)",
    rf"{_REMOVED} (?:from|of|out of)",
    r"away from|no longer|anymore",
    r"(?:fed up|done|through) with|(?:sick|tired|clean|rid|free) of",
)
# What is called off may be told with a preposition; what one lets go of is what stands next to it.
_WIDE = re.compile(r"(?:cancel|call|postpone|put|no longer|stop|decide|break|abandon|scrap|end|quit|ceas)")


_ENDINGS_AS_SUCH = frozenset(["quit"])  # of which the past looks like the present
_STANDING = frozenset("seat place post position membership rank right share role title".split())


@dataclass(frozen=True)
class Ending:
    """``actor`` gave up what the words of ``over`` stand for; ``names`` are the proper names in the clause."""

    actor: Words
    over: Words
    names: Words


# A thing that is told of for the first time is another one.
_ANOTHER = re.compile(r"(?:a|an|some|another|\d+) ")

# "A break", "after losing it": not what the statement is about.
_ASIDE = re.compile(r"(?:\b(?:a|an|the|after|before|without|of|for)|'s|\b(?:not|never)(?: \w+){0,3}) $")


@lru_cache(maxsize=4096)
def endings(text: str) -> tuple[Ending, ...]:
    """All that somebody gives up, as the statement says."""
    return tuple(
        _ending(clause, match)
        for clause in parts(text)
        for match in _GIVES_UP.finditer(clause.text)
        if not _ANOTHER.match(clause.text[match.end() :].lstrip()) and not _ASIDE.search(clause.text[: match.start()])
    )


def _ending(clause: Clause, match: re.Match[str]) -> Ending:
    actor = content(clause.text[: match.start()]) - owners(clause.words)
    rest = clause.text[match.end() :].strip()
    if match[0].endswith(("up", "off", "out", "over")):
        rest = re.sub(r"^(?:on|with|from|of) ", "", rest)
    named = content(PREPOSITION.split(rest)[0])
    if _WIDE.match(match[0]) or named & _STANDING:
        named = content(rest)
    return Ending(actor, named - owners(named) - actor - frozenset([USER]), proper_names(clause))


def gives_up(old: str, new: str) -> bool:
    """Somebody stopped, left, closed, sold or gave up what the older statement tells of."""
    found = endings(new)
    states = [
        state
        for state in predicates(old)
        if found and not (state.told or state.negated or state.verb in _ENDINGS_AS_SUCH)
    ]
    return any(_is_over(state, ending) for ending in found for state in states)


def _is_over(state: Predicate, ending: Ending) -> bool:
    about = frozenset([state.verb]) | state.rest
    shares = bool(ending.over) and len(unmatched(ending.over, about)) * 2 <= len(ending.over)
    return shares and _acts(state, ending) and not _of_another(state, ending)


def _acts(state: Predicate, ending: Ending) -> bool:
    """Who gives up is whom the older statement is about; of a passive without an agent, it may be nobody."""
    if state.subject & ending.actor:
        return True
    named = ending.actor & ending.names or state.subject & state.names
    return not named and any(alike(state.head, word) for word in ending.actor)


def _of_another(state: Predicate, ending: Ending) -> bool:
    """Both name something, and not the same."""
    named = ending.over & ending.names
    return bool(named) and bool(state.rest & state.names) and not named & (state.rest | state.subject)


def speaks_of_an_end(text: str) -> bool:
    """Whether anything is given up at all; "close" by itself is near."""
    return any(match[0] != "close" for clause in parts(text) for match in _GIVES_UP.finditer(clause.text))
