"""What a newer statement puts an end to: what somebody gave up, what was destroyed, who died. Pure."""

import re

from apps.memories.claims.claim import Words, content, owners
from apps.memories.claims.predicate import Predicate, parts, predicates, same_subject, unmatched, without_titles
from apps.memories.lexicon import alike, members, stem, verbs
from apps.memories.wording import USER, Clause

_GIVES_UP = re.compile(
    r"\b"
    + verbs(
        """quit, give up, stop, leave, abandon, drop, drop out of, sell, lose, cancel, call off, postpone, put off,
        break off, break up with, end, end things with, finish, complete, close, shut down, dissolve, disband, throw out,
        throw away, get rid of, give away, donate, trade in, trade, return, resign from, resign as, retire from, cut off,
        shave off, dump, fire, dismiss, sack, let go of, swear off, kick, outgrow, overcome, get over, be over, scrap,
        walk away from, walk out on, ditch, delete, disown, evict, cease, refuse, desert, graduate from, switch from,
        step down as, step down from, move out of, lose interest in, fall out with, part with, pawn, auction, unsubscribe from,
        pay off, settle, repay, cure, fulfil, avenge, solve, break, cast off, take off, put down, set aside, lay down,
        turn against, turn on, cut ties with, stop being, move on from, move away from, escape, escape from, flee, slip out of,
        break out of, check out of, go off, burn, forget, renounce, surrender, forfeit, discard, scrape off, wash off, wean off,
        send back, hand over, hand in, transfer out of, transfer from, change his mind about, decide against, defect from"""
    )
    + r"\b(?! up\b)|\b"
    + verbs("give, throw, put, cast, call, hand, cut, shave, send, pay, trade, wash, turn, sign, chop, let")
    + r"(?= (?:\S+ ){1,4}?(?:away|off|down|back|out|in|go)\b)|\b(?:expelled|fired|banned|kicked out|thrown out|relieved|stripped|removed|released|freed|evicted|"
    r"discharged|banished|exiled|barred|disqualified|ousted|deposed|dismissed|suspended|cut) (?:from|of|out of)\b|"
    r"\b(?:away from|no longer|anymore|fed up with|done with|through with|sick of|tired of|clean of|rid of|free of)\b"
)
_WIDE = re.compile(r"^(?:cancel|call|postpone|put|no longer|stop|decide|break|abandon|scrap|end|quit|ceas)")
_PREPOSITION = re.compile(
    r"\b(?:to|from|in|on|at|for|with|under|into|behind|near|by|because|until|away|after|before)\b"
)


def gives_up(old: str, new: str) -> bool:
    """Somebody stopped, left, closed, sold or gave up what the older statement tells of."""
    states = [state for state in predicates(old) if not state.told and not state.negated]
    return any(_gives_up(state, clause) for clause in parts(new) for state in states)


def _gives_up(state: Predicate, clause: Clause) -> bool:
    for match in _GIVES_UP.finditer(clause.text):
        actor = content(clause.text[: match.start()]) - owners(clause.words)
        over = _what_is_over(clause, match) - actor
        about = frozenset([state.verb]) | state.rest
        is_about = over and len(unmatched(over, about)) < len(over) and _acts(state, actor, clause)
        if is_about and not _of_another(state, over, clause):
            return True
    return False


def _what_is_over(clause: Clause, match: re.Match[str]) -> Words:
    rest = clause.text[match.end() :].strip()
    if match[0].endswith(("up", "off", "out", "over")):
        rest = re.sub(r"^(?:on|with|from|of) ", "", rest)
    named = content(rest if _WIDE.match(match[0]) else _PREPOSITION.split(rest)[0])
    return named - owners(named) - frozenset(stem(name) for name in clause.names if name == USER)


def _acts(state: Predicate, actor: Words, clause: Clause) -> bool:
    """Who gives up is whom the older statement is about; of a passive without an agent, it may be nobody."""
    if state.subject & actor:
        return True
    people = frozenset(stem(name) for name in clause.names)
    return not actor & people and not state.subject & state.names and any(alike(state.head, word) for word in actor)


def _of_another(state: Predicate, over: Words, clause: Clause) -> bool:
    """Things told apart by a word that each has and the other has not."""
    named = over & frozenset(stem(name) for name in clause.names)
    return bool(named) and bool(state.rest & state.names) and not named & (state.rest | state.subject)


_DESTROYED = verbs(
    """destroy, burn, burn down, demolish, wreck, ruin, sink, smash, shatter, collapse, tear down, sweep, flatten, raze,
    blow up, crash, total, break down, fall apart, level, crush, devour, swallow, wash away, dissolve, vanish, cave in,
    perish, go up in flames, carry off, take away, make off with, flood, bomb, topple, close down, go bankrupt, steal, rob,
    revoke, lift, end, expire, cancel, abolish, repeal, confiscate, seize, annul, terminate, void, discontinue, subside, cease,
    come to an end, conclude, disband, abandon, rescind, overturn, withdraw, shut down, adjourn, suspend, run out, run dry"""
)
_LOST_PLACE = (
    r"\b"
    + verbs(
        """disinherit, depose, dethrone, overthrow, demote, dismiss, fire, sack, evict, disown, excommunicate, impeach, oust,
        replace, banish, exile, expel, discharge, disbar, suspend, unseat, lay off"""
    )
    + r"\b"
)
_DEPRIVED = re.compile(_LOST_PLACE + r"|\b" + verbs("release, free, liberate, pardon, rescue") + r"\b")
_STANDING = frozenset(
    "be serve work live belong lead rule command head teach run hold play imprison lock trap captive".split()
)
_CARRIED = verbs("carry, take, wash, sweep, drag")
_GONE = re.compile(rf"\b{_DESTROYED}\b|\b{_CARRIED}\b(?= (?:\S+ ){{0,4}}?(?:off|away)\b)|\bin (?:ruins|ashes)\b")


def destroys(old: str, new: str) -> bool:
    """What the older statement describes, or says that somebody has, was destroyed."""
    states = [state for state in predicates(old) if not state.told and not state.negated]
    if _deprives(states, new):
        return True
    if any(_GONE.search(clause.text) for clause in parts(old)):
        return False
    for clause in parts(new):
        match = _GONE.search(clause.text)
        if match and any(_is_patient(state, clause, match) for state in states):
            return True
    return False


def _deprives(states: list[Predicate], new: str) -> bool:
    """Somebody lost the place that the older statement gives them."""
    for clause in parts(new):
        match = _DEPRIVED.search(clause.text)
        if match is None:
            continue
        passive = re.search(r"\b(?:is|was|were|are|been|got) (?:\w+ly )?$", clause.text[: match.start()])
        patient = content(clause.text[: match.start()] if passive else clause.text[match.end() :])
        for state in states:
            if state.verb in _STANDING and state.subject & state.names & patient:
                return True
    return False


def _is_patient(state: Predicate, clause: Clause, match: re.Match[str]) -> bool:
    thing = state.rest if state.head in state.names and state.verb != "be" else state.subject
    if state.verb not in _HOLDING and thing is state.rest:
        return False
    after, before = content(clause.text[match.end() :]), content(clause.text[: match.start()])
    patient = after if thing & after else before
    return bool(thing) and bool(thing & patient) and not unmatched(thing - owners(thing), patient | after | before)


def endings_of(text: str) -> frozenset[str]:
    """The sorts of ending that a statement speaks of, whatever it is that ends."""
    plain = re.sub(r"\bclose\b", "", " ".join(clause.text for clause in parts(text)))
    if dead(text) or _BEREAVED.search(plain):
        return frozenset(["death"])
    return frozenset(["over"]) if _OVER.search(plain) else frozenset()


_HOLDING = frozenset("have own keep run drive ride carry live belong wear possess hold manage sail".split())

_DIES = re.compile(
    r"\b(?:"
    + verbs(
        "die, drown, perish, pass away, succumb, be killed, be slain, be executed, be hanged, be murdered, be buried"
    )
    + r"|(?:is|was|are|were|lay|lies|found|fell|shot|dropped) dead|heart gave out|laid to rest|passed on|burned at the stake|"
    r"never woke(?: up)?|(?:was|were|got) (?:fatally|struck down|put down|put to sleep|euthani[sz]ed|beheaded|assassinated|poisoned to death)|"
    r"took \S+ own life|lost \S+ battle with|is no more|bled out|starved to death|froze to death|met \S+ (?:end|death)|fell in (?:the |a )?(?:battle|war|fight\w*)|"
    r"did not (?:survive|make it)|took \S+ last breath|breathed \S+ last|(?:lost|gave) \S+ life|passed(?=$| on\b| peacefully))\b"
)
_KILLS = re.compile(
    r"\b(?:"
    + verbs(
        "kill, slay, murder, execute, bury, behead, assassinate, strangle, mourn, euthanise, euthanize, cremate, lay to rest, put down, put to sleep, cremate"
    )
    + r")\b|\b(?:funeral|grave|death|wake|ashes|burial) of\b|\battend(?:ed|s)? (?=\S+ (?:funeral|burial|wake)\b)|"
    r"\b" + verbs("put") + r"(?= (?:\S+ ){1,4}(?:to sleep|down)$)"
)
_MOURNED = re.compile(
    r"\b(?P<who>[\w-]+)'s (?:funeral|death|burial|grave|ashes|body|corpse|memorial|wake|tomb|murder|passing|obituary|killer)\b"
)
_LOSES = re.compile(r"\b(?:lost|lose)\b")


def dead(text: str) -> list[tuple[Words, Words]]:
    """Who died, as the statement says: the words for them, and for whose they were."""
    found = []
    for clause in parts(text):
        found += [(frozenset([stem(match["who"])]), frozenset()) for match in _MOURNED.finditer(clause.text)]
        words = without_titles(clause)
        plain = " ".join(words)
        if re.search(r"\b(?:not|never|almost|nearly|believed|thought|if|might|could)\b (?!survive|make)", plain):
            continue
        for pattern, behind in ((_DIES, False), (_KILLS, True), (_LOSES, True)):
            match = pattern.search(plain)
            if match is None:
                continue
            part = plain[match.end() :] if behind else plain[: match.start()]
            part = _PREPOSITION.split(part)[0] if behind else part
            who = content(part)
            if _is_somebody(who, clause, lost=pattern is _LOSES):
                found.append((who - owners(who), owners(who)))
                break
    return found


def _is_somebody(who: Words, clause: Clause, *, lost: bool) -> bool:
    living = who & (members("person") | members("animal") | _KIN)
    if lost:
        return bool(living) and not who & frozenset(["job", "game", "match", "way", "race", "weight"])
    return bool(living) or bool(who & frozenset(stem(name) for name in clause.names))


_KIN = content(
    "mother father mom mum dad grandma grandpa grandfather grandmother husband wife brother sister son aunt uncle dog cat horse"
)
_BONDS = frozenset(
    "marry engage date see love husband wife fiance fiancee partner girlfriend boyfriend live work".split()
)
_LASTING = frozenset("bear grow name call kill die bury drown birth father mother brother sister son daughter".split())


def outlived(old: str, new: str) -> bool:
    """Of whom the older statement says how they are, the newer one says that they died."""
    lost = dead(new)
    if not lost or dead(old):
        return False
    return any(
        _is_the_dead(state, who, whose)
        for state in predicates(old)
        if not state.told and not state.words & _LASTING - state.subject
        for who, whose in lost
    )


def _is_the_dead(state: Predicate, who: Words, whose: Words) -> bool:
    if state.owners and whose and not state.owners & whose:
        return False
    if whose and not state.owners and state.subject & state.names:
        named = bool(who & state.names)
        return named or bool(who & state.rest & (members("person") | members("animal") | _KIN))
    if who & state.subject and not unmatched(who & state.names, state.subject):
        return True
    return bool(who & state.rest & state.names) and bool(state.words & (_HOLDING | _BONDS | members("animal") | _KIN))


_OVER = re.compile("|".join((_GIVES_UP.pattern, _GONE.pattern, _LOST_PLACE)))
_BEREAVED = re.compile(rf"{_DIES.pattern}|\bwidow\w*")


__all__ = ["destroys", "gives_up", "outlived", "same_subject"]
