"""What statements claim of things: who has them, where they are, when they take place, what they are called. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import (
    LIVING,
    NOTHING,
    Claim,
    after,
    before,
    claim,
    content,
    negated,
    owners,
    people,
    phrases,
    without_people,
)
from apps.memories.lexicon import members, stem, verbs
from apps.memories.wording import STOP_WORDS, Clause

# What is had or given only in a manner of speaking.
_ABSTRACT = content(
    """strength energy purpose hope love chance idea advice help support joy peace courage attention permission hold
    hand hands look kiss hug thought thoughts luck fun feeling sense word words name faith trust heart life eye eyes
    fire"""
)
_GIVES = re.compile(
    r"\b(?:gave|gives|handed|lent|returned|passed|brought|sent|donated|traded|sold|bequeathed)\b(?! (?:birth|up|"
    r"in)\b)"
)
_GONE = re.compile(r"\b(?:lost|dropped|threw away|gave away|got rid of|let go of|crashed|totalled|donated|sold)\b")
_HAS = re.compile(
    r"\b(?:has|have|owns?|keeps?|kept|carr(?:y|ies|ied)|wears?|wore|holds?|bought|got|received|found|inherited|"
    r"recovered)\b"
    r"(?! (?:been|to|not)\b)"
)
_PASSIVE_GONE = re.compile(r"\b(?:was|were|is|has been|got) (?:stolen|lost|sold|given away|taken)\b")
_BELONGS = re.compile(r"\bbelongs? to\b")
_PREPOSITION = re.compile(r"\b(?:to|from|in|on|at|for|with|under|into|behind|near|by|of|away|called|named|back|and)\b")


def read_keeping(clause: Clause) -> Iterator[Claim]:
    passive, belongs = _PASSIVE_GONE.search(clause.text), _BELONGS.search(clause.text)
    if passive or belongs:
        match = passive or belongs
        assert match is not None
        holder = frozenset(["gone"]) if passive else after(clause, match)
        yield claim(clause, "keeping", NOTHING, holder, thing=without_people(before(clause, match), clause), moves=True)
        return
    for pattern, moves in ((_GIVES, True), (_GONE, True), (_HAS, False)):
        match = pattern.search(clause.text)
        if match:
            yield from _held(clause, match, moves)
            return


def _held(clause: Clause, match: re.Match[str], moves: bool) -> Iterator[Claim]:
    rest = clause.text[match.end() :]
    direct = _PREPOSITION.split(rest)[0]
    giver = before(clause, match)
    thing = without_people(content(direct), clause) or content(direct)
    receiver = re.search(r"\b(?:to|back to) (?P<name>\S+)", rest)
    people = [word for word in direct.split() if word in clause.names]
    taker = (receiver["name"] if receiver else "") or (people[0] if people and len(content(direct)) > 1 else "")
    if not thing - _ABSTRACT:
        return
    given = frozenset([stem(taker) if taker in clause.names else "gone"])
    holder = given if moves else giver & frozenset(map(stem, clause.names)) or giver
    definite = moves or bool(re.search(r"\bthe\b|'s\b", direct)) or bool(thing & content(" ".join(clause.names)))
    yield claim(clause, "keeping" if definite else "having", giver, holder, thing=thing, moves=moves)


_KEPT = "(?:hidden|buried|kept|stored|locked)"
_PLACE = re.compile(
    rf"(?P<verb>\b(?:(?:is|lies) {_KEPT}|is|lies|stands|hangs|{_KEPT}|hid|put|moved|placed|keeps|hides))\b"
    r"(?P<object>(?: (?!in\b|under\b|into\b|to\b|on\b|behind\b|inside\b|beneath\b|at\b)\S+){0,4}) "
    r"(?:in|under|into|to|on|behind|inside|beneath|at)\b"
)


_TAKES = verbs(
    """pick up, collect, fetch, retrieve, remove, dig up, unearth, take, bring, carry, drag, haul, grab, pocket, steal,
    swipe"""
)
_TAKEN = re.compile(
    rf"\b{_TAKES} (?P<thing>(?:the|\S+'s) (?:[\w-]+ ?){{1,3}}?)(?= (?:to|from|out|off|away|home|back|in|into|and)\b|$)"
)
_GOAL = re.compile(r"\b(?:to|into) (?P<goal>.*)$")
_PUTTING = frozenset("hid put moved placed keeps kept buried stored hides".split())


def read_place(clause: Clause) -> Iterator[Claim]:
    taken = _TAKEN.search(clause.text)
    if taken:
        goal = _GOAL.search(clause.text[taken.end() :])
        where = content(goal["goal"]) if goal else frozenset(["elsewhere"])
        thing = without_people(content(taken["thing"]), clause)
        if thing and not thing & LIVING:
            yield claim(clause, "place", NOTHING, where, thing=thing, moves=True)
        return
    match = _PLACE.search(clause.text)
    if match is None:
        return
    direct = content(match["object"])
    subject = before(clause, match)
    thing = without_people(direct or subject, clause)
    active = match["verb"].split()[-1] in _PUTTING
    if not thing or (direct and not active) or (not direct and subject & frozenset(map(stem, clause.names))):
        return
    value = after(clause, match)
    if value and not _WHEN.search(clause.text):
        yield claim(clause, "place", NOTHING, value, thing=thing)


_WHEN = re.compile(
    r"\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may-month|june|"
    r"july|august|"
    r"september|october|november|december|noon|midnight|\d{1,2}(?::\d\d)?(?: ?[ap]m)?)\b"
)
_SET = re.compile(
    r"\b(?:is|was|are|been|takes place|starts|begins|happens)\b"
    r"(?: now| moved| postponed| rescheduled| set| planned| scheduled| due| booked| slated)*"
    r" (?:on|to|at|until|for)\b|\b(?:moved|postponed|rescheduled) (?:to|until)\b"
)
_OFF = re.compile(r"\b(?:cancelled|canceled|called off)\b")


def read_when(clause: Clause) -> Iterator[Claim]:
    off, date, at = _OFF.search(clause.text), _WHEN.search(clause.text), _SET.search(clause.text)
    if off:
        yield claim(clause, "when", NOTHING, frozenset(["off"]), thing=before(clause, off) or after(clause, off))
    elif at and date and at.start() < date.start():
        thing = without_people(before(clause, at), clause)
        value = frozenset(found[0] for found in _WHEN.finditer(clause.text))
        if thing:
            yield claim(clause, "when", NOTHING, value, thing=thing)


_WEATHER = {
    "wet": "rain(?:s|ing|y)?|pouring|drizzling|storm(?:s|y|ing)?|thunder(?:storm)?|hail(?:ing)?|downpour",
    "white": "snow(?:s|ing|y)?|blizzard",
    "fair": "sun(?:ny|shine)?|clear(?:ed)? (?:sky|skies|up)|cloudless|dry",
    "dim": "fog(?:gy)?|mist(?:y)?|overcast|cloudy",
}
_SKIES = {
    state: re.compile(rf"(?:(?:it|the|a|there|outside|heavy|is|was|has|been|\w+ly) )*(?:{words})\b")
    for state, words in _WEATHER.items()
}
_CLEARS = phrases("stopped|ended|passed|cleared|let up|died down|lifted|is over|eased")


def read_weather(clause: Clause) -> Iterator[Claim]:
    """It is raining, the sun is out; of the weather as it is, not of somebody in the rain."""
    if clause.names:
        return
    for state, pattern in _SKIES.items():
        if pattern.match(clause.text):
            over = bool(_CLEARS.search(clause.text)) and state != "fair"
            value = frozenset(["over" if over else state])
            yield claim(clause, "weather", NOTHING, value, thing=frozenset(["weather"]))
            return


_NAMED = re.compile(
    r"\b(?:names? (?:is|are)|(?:is|was|are)(?: now)? (?:called|named|renamed)|"
    r"renamed|(?:re)?christened|rebranded(?: as)?|goes by|answers to|is known as|changed \S+ name to|called|named)\b"
)


def read_name(clause: Clause) -> Iterator[Claim]:
    match = _NAMED.search(clause.text)
    if match and match.start() > 0:
        subject = before(clause, match)
        own = "names" if match[0].startswith("name") else ""
        value = content(" ".join(clause.text[match.end() :].split()[:3]))
        thing = subject if own else without_people(subject, clause)
        yield claim(clause, "name", subject if own else NOTHING, value, thing=thing or subject)


_COUNTS = re.compile(r"\b(?:has|have|got|owns?|there are|guarded by|left|is home to)\b")
_UNITS = STOP_WORDS | {"years", "months", "weeks", "days", "hours", "times", "year"}
_COUNTED = re.compile(r"\b(?P<number>\d+) (?P<noun>[a-z-]{3,})\b")


def read_count(clause: Clause) -> Iterator[Claim]:
    has = _COUNTS.search(clause.text)
    if has is None:
        return
    subject = content(clause.text[: has.start()])
    for match in _COUNTED.finditer(clause.text):
        if match["noun"] not in _UNITS:
            yield claim(clause, "count", subject, frozenset([match["number"]]), thing=content(match["noun"]))


_HEADS = content(
    """favourite favorite colour color password number address birthday age job capital leader captain owner plan price
    boss teacher mentor king queen weapon code motto goal dream mission task enemy partner deadline destination
    phone height weight title rank size team crush hairstyle mayor president chief username nickname
    surname handle email pin hometown hobby religion nationality salary budget office desk seat locker shift"""
)
_HOLDERS = content(
    """landlord landlady employer doctor dentist manager therapist coach supervisor lawyer tutor trainer agent vet
    accountant hairdresser physician solicitor guardian squire valet steward headmaster principal godfather
    godmother"""
)
_IS = re.compile(
    r"\b(?:is|are|was changed to|were changed to|changed to|has become)\b(?: now)?(?! (?:not|in|on|at|under|"
    r"behind|with)\b)"
)


_OFFICES = members("occupation") | content("head leader captain mayor owner lord lady heir queen king champion host")
_COMES_TO_BE = (
    "(?:became|becomes|(?:has|have) become|was (?:elected|appointed|named|made|crowned|chosen)|took over|took office)"
)
_HOLDS_OFFICE = re.compile(
    rf"^(?P<who>[\w' -]+?) (?:is|am|are|{_COMES_TO_BE})(?: now)?(?: as)?(?: the)?(?: new)? "
    r"(?P<role>[\w-]+ of (?:the )?[\w'-]+)"
)


def read_quality(clause: Clause) -> Iterator[Claim]:
    """The captain of the ship is Mira, Mira is the captain of the ship; a favourite colour; a password."""
    match, holder = _IS.search(clause.text), _HOLDS_OFFICE.match(clause.text)
    if negated(clause):
        return
    if holder and stem(holder["role"].split()[0]) in _OFFICES:
        yield claim(clause, "role", NOTHING, content(holder["who"]), thing=content(holder["role"]))
    elif match:
        left, right = clause.text[: match.start()], clause.text[match.end() :]
        of_a_holder = content(left) & _HOLDERS and owners(left.split()) and content(right) & people(clause)
        if (content(left) & _HEADS or of_a_holder) and 0 < len(content(right)) <= 4:
            yield claim(clause, "quality", NOTHING, content(right), thing=content(left))
