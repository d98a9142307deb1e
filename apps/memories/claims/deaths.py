"""Who died, as a statement says, and what that ends. Pure."""

import re
from collections.abc import Iterator
from functools import lru_cache

from apps.memories.claims.claim import KIN, LIVING, PREPOSITION, Words, content, owners, phrases
from apps.memories.claims.predicate import Predicate, parts, predicates, proper_names, unmatched, without_titles
from apps.memories.lexicon import members, stem, verbs
from apps.memories.wording import Clause

_DIES = phrases(
    verbs(
        """die, drown, perish, pass away, succumb, bleed out, starve to death, freeze to death, be killed, be
        slain, be executed, be hanged, be murdered, be buried, be assassinated, be beheaded, be put down, be put to
        sleep, be struck down, be shot down, be laid to rest"""
    ),
    r"(?:is|was|are|were|lay|lies|found|fell|shot|dropped) dead",
    r"fell in (?:the |a )?(?:battle|war|fight\w*)|burned at the stake|heart gave out|never woke(?: up)?|is no more",
    r"(?:took \S+ own|lost \S+|gave \S+) life|lost \S+ battle with|met \S+ (?:end|death)",
    r"did not (?:survive|make it)|(?:took|breathed) \S+ last(?: breath)?|passed(?: on)?(?=$| peacefully)",
)
_KILLS = phrases(
    verbs("kill, slay, murder, execute, bury, behead, assassinate, strangle, mourn, cremate, lay to rest, put down"),
    r"euthani[sz]ed?|(?:funeral|grave|death|wake|ashes|burial) of",
    verbs("put") + r"(?= (?:\S+ ){1,4}(?:to sleep|down)$)",
)
_LOSES = phrases("lost|lose")
_MOURNED = re.compile(
    r"\b(?P<who>[\w-]+)'s (?:funeral|death|burial|grave|ashes|body|corpse|memorial|wake|tomb|murder|passing|killer)\b"
)
_UNREAL = phrases("(?:not|never|almost|nearly|believed|thought|if|might|could) (?!survive|make)")
_WIDOWED = phrases(r"widow\w*")
_MISLAID = frozenset("job game match way race weight".split())
_BONDS = (
    frozenset("marry engage date see love have own keep fiance partner live work".split()) | members("animal") | KIN
)
_LASTING = frozenset("bear grow name call kill die bury drown birth father mother brother sister son daughter".split())


@lru_cache(maxsize=4096)
def dead(text: str) -> tuple[tuple[Words, Words], ...]:
    """The words for each who died, and for whose they were."""
    return tuple(found for clause in parts(text) for found in _dead(clause))


def _dead(clause: Clause) -> Iterator[tuple[Words, Words]]:
    plain = " ".join(without_titles(clause))
    yield from ((frozenset([stem(match["who"])]), frozenset()) for match in _MOURNED.finditer(plain))
    if _UNREAL.search(plain):
        return
    for pattern in (_DIES, _KILLS, _LOSES):
        match = pattern.search(plain)
        if match:
            who = content(plain[: match.start()] if pattern is _DIES else PREPOSITION.split(plain[match.end() :])[0])
            if _is_somebody(who, clause, lost=pattern is _LOSES):
                yield who - owners(who), owners(who)
                return


def _is_somebody(who: Words, clause: Clause, *, lost: bool) -> bool:
    living = bool(who & LIVING)
    return living and not who & _MISLAID if lost else living or bool(who & proper_names(clause))


def outlived(old: str, new: str) -> bool:
    """Of whom the older statement says how they are, the newer one says that they died."""
    lost = dead(new)
    if not lost or dead(old):
        return False
    states = [state for state in predicates(old) if not state.told and not state.words & _LASTING - state.subject]
    return any(_is_about(state, who, whose) for state in states for who, whose in lost)


def _is_about(state: Predicate, who: Words, whose: Words) -> bool:
    if state.owners and whose and not state.owners & whose:
        return False
    if whose and not state.owners and state.subject & state.names:
        return bool(who & (state.names | (state.rest & LIVING)))
    if who & state.subject and not unmatched(who & state.names, state.subject):
        return True
    return bool(who & state.rest & state.names) and bool(state.words & _BONDS)


def speaks_of_death(text: str) -> bool:
    return bool(dead(text)) or any(_DIES.search(part.text) or _WIDOWED.search(part.text) for part in parts(text))
