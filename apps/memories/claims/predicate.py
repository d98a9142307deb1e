"""A clause as who or what it is about, its verb, and what it says of them. Pure."""

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

from apps.memories.claims.claim import NOTHING, Words, content, owners
from apps.memories.lexicon import alike, members, stem
from apps.memories.wording import TITLES, USER, Clause, clauses

_BE = frozenset("is are am was were be been being".split())
_AUXILIARY = _BE | frozenset(
    "has have had having do does did can could will would shall should may might must cannot got gets".split()
)
_BETWEEN = frozenset(
    """not never also still just only now always often usually already no longer really quite finally both all again
    recently secretly officially currently once ever to going""".split()
)
_JOINTS = ("and", "but", "then")
_RELATING = frozenset(
    """as into of in on at with from for to about between under above near beneath behind inside beside outside aboard
    around""".split()
)

_NEGATION = re.compile(
    r"\b(?:not|never|no longer|without|nobody|nothing|no|neither|nor|none|unable to|fails? to|failed to|refuses? to|"
    r"refused to|hardly|barely|lacks?|lacked|devoid of|"
    r"(?:is|are|am|was|were|ran|run|runs) out of(?= \w+(?: \w+)?$)(?! (?:order|town|work|bed|hospital|prison)))\b"
    r"(?! (?:only|doubt)\b)"
)


AGENT_WORDS = 3  # behind "by", at most


@dataclass(frozen=True)
class Predicate:
    """``subject`` and ``rest`` are stems of the words of meaning before and behind the verb, ``head`` the main one of
    the former, ``link`` the preposition behind the verb, ``names`` the proper names of the clause, ``owners`` the
    possessives before the verb. ``told``: it tells what happened, not how things are; ``perfect``: what has
    happened."""

    subject: Words
    head: str
    verb: str
    rest: Words
    link: str
    names: Words
    owners: Words
    negated: bool
    passive: bool
    told: bool
    perfect: bool

    @cached_property
    def words(self) -> Words:
        return self.subject | self.rest | frozenset([self.verb])


@lru_cache(maxsize=4096)
def parts(text: str) -> tuple[Clause, ...]:
    """The clauses of a statement, and of what somebody "did and does" each for itself, with its subject."""
    return tuple(part for clause in clauses(text) for part in _split(clause))


def _split(clause: Clause) -> list[Clause]:
    first = _first_verb(clause)
    joints = [place for place, word in enumerate(clause.words) if word in _JOINTS and place > (first or place)]
    anew = next((place for place in joints if _begins_anew(clause, place)), None)
    if anew:
        return [*_split(_cut(clause, clause.words[:anew])), *_split(_cut(clause, clause.words[anew + 1 :]))]
    edges = [*(place for place in joints if _begins_verb(clause, place + 1)), len(clause.words)]
    tails = (clause.words[:first] + clause.words[start + 1 : end] for start, end in pairwise(edges))
    return [_cut(clause, words) for words in (clause.words[: edges[0]], *tails)]


def _cut(clause: Clause, words: tuple[str, ...]) -> Clause:
    return Clause(words, clause.names & frozenset(word.removesuffix("'s") for word in words))


def _first_verb(clause: Clause) -> int | None:
    return next((place for place in range(1, len(clause.words)) if _is_verb(clause, place)), None)


def _begins_anew(clause: Clause, place: int) -> bool:
    """Whether "and" is followed by somebody else and what they do."""
    place += 1
    while place < len(clause.words) and clause.words[place] in TITLES:
        place += 1
    return place + 1 < len(clause.words) and clause.words[place] in clause.names and _is_verb(clause, place + 1)


def _begins_verb(clause: Clause, place: int) -> bool:
    word = next(iter(clause.words[place : place + 1]), "")
    if word in _AUXILIARY or word in _BETWEEN:
        return word in _AUXILIARY
    base = stem(word)
    if word in clause.names or word.endswith(("'s", "ing")):
        return False
    finite = base != word or word in ("left", "quit", "put")
    return finite and (base in members("verb") or base in members("noun_or_verb"))


@lru_cache(maxsize=4096)
def predicates(text: str) -> tuple[Predicate, ...]:
    """Of each clause that has a verb, in order."""
    found = (_predicate(clause) for clause in parts(text))
    return tuple(predicate for predicate in found if predicate)


def _predicate(clause: Clause) -> Predicate | None:
    first = _first_verb(clause)
    if first is None:
        return None
    verb = _main_verb(clause, first)
    auxiliaries = clause.words[first:verb]
    before = without_titles(Clause(clause.words[:first], clause.names))
    subject = content(" ".join(before))
    predicate = Predicate(
        subject=subject - owners(subject),
        head=_head(before),
        verb=stem(clause.words[verb]),
        rest=content(" ".join(without_titles(Clause(clause.words[verb + 1 :], clause.names)))),
        link=next((word for word in clause.words[verb + 1 : verb + 2] if word in _RELATING), ""),
        names=proper_names(clause),
        owners=owners(subject),
        negated=is_negated(clause.text),
        passive=bool(_BE & set(auxiliaries)) and not clause.words[verb].endswith("ing"),
        told=_is_told(clause.words[verb], auxiliaries),
        perfect=bool(auxiliaries) and auxiliaries[0] in ("has", "have") and not clause.words[verb].endswith("ing"),
    )
    return _active(predicate, clause, verb)


def _active(predicate: Predicate, clause: Clause, verb: int) -> Predicate:
    """What is done by somebody, as what somebody does; what belongs to somebody, as what they own."""
    behind = clause.words[verb + 1 :]
    if predicate.passive and "by" in behind:
        by = behind[behind.index("by") + 1 :][:AGENT_WORDS]
        agent = content(" ".join(by))
        rest = predicate.subject | predicate.owners | (predicate.rest - agent)
        return replace(predicate, subject=agent, head=_head(by), rest=rest, passive=False, owners=NOTHING)
    whose = owners(predicate.rest)
    if predicate.verb == "be" and whose and whose == predicate.rest and not predicate.negated:
        holder = frozenset(word[:-2] for word in whose)
        return replace(predicate, subject=holder, head=min(holder), verb="own", rest=predicate.subject)
    if predicate.verb == "belong" and behind[:1] == ("to",):
        return replace(predicate, subject=predicate.rest, head=_head(behind), verb="own", rest=predicate.subject)
    return predicate


def is_negated(text: str) -> bool:
    """Two negations make none; what is not so without something, is still not so."""
    found = _NEGATION.findall(text)
    return len([word for word in found if word != "without"]) % 2 == 1 or found == ["without"]


def proper_names(clause: Clause) -> Words:
    return frozenset(stem(name) for name in clause.names - TITLES)


def _is_verb(clause: Clause, place: int) -> bool:
    word, previous = clause.words[place], clause.words[place - 1]
    if word in _AUXILIARY:
        return True
    if word in clause.names or word.endswith("'s") or previous.endswith("'s") or previous in ("a", "an", "the"):
        return False
    base = stem(word)
    follows_who = previous in clause.names or previous.endswith("s") or previous in _BETWEEN
    if base in members("verb") and word not in _BETWEEN:
        return base != word or follows_who
    return (base in members("noun_or_verb") and (follows_who or word.endswith(("s", "ed")))) or (
        word == "left" and (follows_who or previous in members("person"))
    )


def _main_verb(clause: Clause, first: int) -> int:
    """The place of the verb behind its auxiliaries, or of the last of these."""
    place = first
    while clause.words[place] in _AUXILIARY:
        following = place + 1
        while following < len(clause.words) and clause.words[following] in _BETWEEN:
            following += 1
        if following >= len(clause.words) or not _continues(clause.words[place], clause.words[following]):
            return place
        place = following
    return place


def _continues(auxiliary: str, word: str) -> bool:
    """Whether a word behind an auxiliary is the verb that this goes with."""
    if word in _AUXILIARY:
        return True
    base = stem(word)
    known = base in members("verb") or base in members("noun_or_verb")
    if auxiliary in _BE or auxiliary.startswith(("ha", "go", "ge")):
        return (known and base != word) or word in ("become", "come", "run", "put", "cut", "left", "quit", "knit")
    return known


def without_titles(clause: Clause) -> tuple[str, ...]:
    """The words of a clause; a title before a name goes with the name."""
    pairs = zip(clause.words, (*clause.words[1:], ""), strict=False)
    return tuple(word for word, following in pairs if not (word in TITLES and following in clause.names))


def _head(words: tuple[str, ...]) -> str:
    until = next(
        (place for place, word in enumerate(words) if place and word in _RELATING and content(words[place - 1])), None
    )
    meaning = [stem(word) for word in words[:until] if content(word) and not word.endswith("'s")]
    return meaning[-1] if meaning else next(iter(sorted(owners(words))), "")


def _is_told(verb: str, auxiliaries: tuple[str, ...]) -> bool:
    if auxiliaries:
        return auxiliaries[0] in ("was", "were", "did", "had", "got") and not verb.endswith("ing")
    return verb != stem(verb) and not verb.endswith(("s", "ing")) and verb not in ("is", "are", "am")


def same_subject(one: Predicate, two: Predicate) -> bool:
    """Both are about the same person or thing, as far as can be told."""
    if one.owners and two.owners and not one.owners & two.owners:
        return False
    shared = one.subject & two.subject
    if shared & one.names & two.names:
        return not conflicting(one.subject & one.names, two.subject & two.names)
    if bool(one.owners) != bool(two.owners) and (USER in one.subject) != (USER in two.subject):
        return False
    return bool(one.head) and alike(one.head, two.head) and not conflicting(one.subject, two.subject)


def conflicting(one: Words, two: Words) -> bool:
    """Each has something that the other has not, in no other words either."""
    return bool(unmatched(one, two)) and bool(unmatched(two, one))


def unmatched(words: Words, others: Words) -> Words:
    """The words that have no like among the others."""
    return frozenset(word for word in words if not any(alike(word, other) for other in others)) if words else NOTHING
