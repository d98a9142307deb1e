"""What a statement claims, as far as rules can tell: of whom, about what, which value. Pure.

A claim is about something that has one value at a time: where somebody lives, what they do, whom they are with, who
has a thing, when something takes place. Two claims with the same key and different values can't both hold now.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from apps.memories.wording import STOP_WORDS, Clause, clauses, stem

Words = frozenset[str]
NOTHING: Words = frozenset()


@dataclass(frozen=True)
class Claim:
    """``subject`` has ``value`` for ``attribute`` of ``thing``. ``moves``: the statement tells of the change itself."""

    attribute: str
    subject: Words
    value: Words
    thing: Words = NOTHING
    names: Words = NOTHING
    moves: bool = False


@lru_cache(maxsize=4096)
def claims(text: str) -> tuple[Claim, ...]:
    """The claims of a statement, in the order of its clauses."""
    return tuple(claim for clause in clauses(text) for reader in READERS for claim in reader(clause))


_FILLERS = STOP_WORDS | frozenset(
    "old new little small big long good very much quite rather own real true called named alone together time thing things "
    "people way lot kind".split()
)
_VALUE_ENDS = re.compile(r"\b(?:with|and|for|since|because|after|before|from|where|until|as|in \d+|by)\b")


def content(words: str) -> Words:
    """The stems of the words that carry meaning; possessives stay apart from the names themselves."""
    return frozenset(
        word if word.endswith("'s") else stem(word) for word in words.split() if word not in _FILLERS and word != "'s"
    )


def _before(clause: Clause, match: re.Match[str]) -> Words:
    return content(clause.text[: match.start()])


def _after(clause: Clause, match: re.Match[str], words: int = 4) -> Words:
    """The first few words of meaning behind a match, up to the next preposition that begins something else."""
    rest = _VALUE_ENDS.split(clause.text[match.end() :])[0]
    return frozenset(word for word in content(" ".join(rest.split()[: words + 3])))


def _claim(clause: Clause, attribute: str, subject: Words, value: Words, **more: object) -> Claim:
    names = frozenset(stem(name) for name in clause.names) | frozenset(f"{name}'s" for name in clause.names)
    return Claim(attribute, subject, value, names=names, **more)  # type: ignore[arg-type]


def _negated(clause: Clause) -> bool:
    return bool(re.search(r"\b(?:not|never|no longer|without|nobody|no)\b", clause.text))


_LIVES = re.compile(r"\b(?:live[sd]?|living|resides?|dwells?) (?:\w+ )?(?:in|at|on)\b|\bhome is(?: now)?(?: in| at)?\b")
_MOVES = re.compile(
    r"\b(?:moved|moves|moving|relocated)(?: back| out| over| house)? (?:to|into|in to|in with|in at)\b|"
    r"\bsettled (?:down )?(?:in|at|on)\b|\brents? (?:a |an )?(?:room|flat|house|apartment) (?:in|at|on)\b"
)


def _home(clause: Clause) -> Iterator[Claim]:
    lives, moves = _LIVES.search(clause.text), _MOVES.search(clause.text)
    match = moves or lives
    if match is None or _past(clause, match) or re.search(r"\b(?:used to|once|grew up)\b", clause.text):
        return
    subject = _before(clause, match)
    # "Tom moved the key to the drawer" is no change of home.
    if match.end() < len(clause.text):
        yield _claim(clause, "home", subject, _after(clause, match), moves=moves is not None)


def _past(clause: Clause, match: re.Match[str]) -> bool:
    """Whether it is told of the past only: "lived", without "has" before it."""
    return match[0].startswith("lived") and not re.search(r"\b(?:has|have)\b", clause.text[: match.start()])


PROFESSIONS = frozenset(
    """teacher doctor nurse baker pilot sailor captain clerk lawyer engineer writer soldier general farmer smith
    blacksmith cook chef waiter waitress student apprentice merchant guard priest monk nun king queen knight thief
    singer painter artist actor actress driver carpenter mason miner fisherman hunter healer surgeon professor
    librarian scientist programmer developer designer manager director president mayor judge detective officer
    journalist photographer musician dancer surveyor superintendent lieutenant spy assassin mercenary vet dentist
    architect accountant plumber electrician mechanic gardener tailor weaver butcher innkeeper barista intern
    firefighter paramedic therapist councillor senator minister ambassador bard wizard witch mage druid
    paladin""".split()
)
_PROFESSION = "|".join(sorted(PROFESSIONS))
_DOES = re.compile(rf"\b(?:is|am|are) (?:now |still )?(?:a |an |the )?(?:[\w-]+ )?(?P<role>{_PROFESSION})\b")
_WORKS_AS = re.compile(r"\bwork(?:s|ed|ing)? as (?:a |an |the )?(?P<role>[\w-]+(?: [\w-]+)?)")
_WORKS_AT = re.compile(r"\bwork(?:s|ing)? (?:at|for|in)\b|\bhas worked (?:at|for|in)\b|\bemployed (?:at|by)\b")
_BECAME = re.compile(
    r"\b(?:became|becomes|become|promoted to|hired as|(?:got|has|started|took) (?:a |the )?(?:\w+ )?job (?:as|at|with|in)|"
    r"start(?:ed|s)? (?:work|working) (?:as|at|for))\b"
)
_UNEMPLOYED = re.compile(
    r"\b(?:quit|resigned|retired|fired|sacked|laid off|unemployed|out of work|"
    r"(?:lost|left|gave up|leaving) \S+ (?:job|post|position))\b"
)


def _work(clause: Clause) -> Iterator[Claim]:
    for pattern, moves in ((_WORKS_AS, False), (_DOES, False), (_BECAME, True)):
        match = pattern.search(clause.text)
        if match and not _negated(clause):
            value = _after(clause, match) if moves else content(match["role"])
            yield _claim(clause, "work", _before(clause, match), value, thing=frozenset(["role"]), moves=moves)
    place, ended = _WORKS_AT.search(clause.text), _UNEMPLOYED.search(clause.text)
    if place and not _negated(clause):
        yield _claim(clause, "work", _before(clause, place), _after(clause, place), thing=frozenset(["place"]))
    if ended:
        yield _claim(clause, "work", _before(clause, ended), frozenset(["none"]), moves=True)


_PARTNERS = [
    ("apart", re.compile(r"\b(?:divorced?|separated|broke up|broken up|split up|left (?:\S+'s )?(?:husband|wife))\b")),
    ("married", re.compile(r"\b(?:married|marries|wife is|husband is)\b")),
    ("engaged", re.compile(r"\b(?:engaged|fianc[eé]e?)\b")),
    ("single", re.compile(r"\b(?:single|unmarried)\b")),
    ("widowed", re.compile(r"\b(?:widow(?:ed|er)?)\b")),
    (
        "dating",
        re.compile(
            r"\b(?:dating|seeing|girlfriend is|boyfriend is|(?:has|have) a (?:boyfriend|girlfriend)|in a relationship)\b"
        ),
    ),
]


def _partner(clause: Clause) -> Iterator[Claim]:
    for status, pattern in _PARTNERS:
        match = pattern.search(clause.text)
        if match:
            value = "single" if status == "married" and _negated(clause) else status
            yield _claim(clause, "partner", _before(clause, match) & _people(clause), frozenset([value]))
            return


def _people(clause: Clause) -> Words:
    """Names, possessives and kin, as subjects have them."""
    kin = "brother sister mother father son daughter aunt uncle cousin friend husband wife dog cat horse pony".split()
    return frozenset(stem(name) for name in clause.names) | content(" ".join(kin)) | _owners(clause)


def _owners(clause: Clause) -> Words:
    return frozenset(word for word in clause.words if word.endswith("'s"))


_DEAD = re.compile(r"\b(?:died|dies|dead|drowned|killed|passed away|murdered|executed|perished|hanged)\b")
_ALIVE = re.compile(r"\b(?:alive|survived|lives on|still lives|came back to life)\b")


def _life(clause: Clause) -> Iterator[Claim]:
    dead, alive = _DEAD.search(clause.text), _ALIVE.search(clause.text)
    match = alive or dead
    if match:
        is_dead = (alive is None) != bool(re.search(r"\b(?:not|never)\b", clause.text))
        yield _claim(clause, "life", _before(clause, match), frozenset(["dead" if is_dead else "alive"]), moves=True)


_BODY = frozenset(
    """arm leg hand foot head shoulder knee ankle wrist finger palm back rib eye ear nose neck chest hip thumb toe
    elbow thigh side face jaw tooth""".split()
)
_ILLNESS = frozenset("fever flu cold cough infection limp illness poison burn concussion headache pneumonia".split())
_HURT = re.compile(
    r"\b(?:wound(?:s|ed)?|injur\w+|hurts?|sprained|bleed(?:s|ing)|bruised?|(?:a|the) (?:deep |bad )?(?:cut|gash)|fever|sick|"
    r"(?:is|am|are|was|been|fell|seriously) ill|flu|infection|infected|poisoned|limp(?:s|ing|ed)?|stitches|concussion|paraly[sz]ed|crutches|in a cast|fractured?|"
    r"(?:broke|broken|twisted|cut|burn(?:ed|t)) (?:\S+ )?(?:left |right )?(?:arm|leg|hand|foot|palm|wrist|ankle|ribs?|nose|"
    r"shoulder|finger|knee|collarbone|neck|toe))\b"
)
_WELL = re.compile(
    r"\b(?:heal(?:s|ed)?|recover(?:s|ed)?|cured|healthy|well again|fine again|better now|is gone|is over|mended|"
    r"without (?:a |the )?limp|took off the (?:cast|bandages?)|(?:cast|stitches|bandages?) (?:came|is|are|come) (?:off|out)|"
    r"back on \S+ feet|(?:scar|pink line))\b"
)


def _health(clause: Clause) -> Iterator[Claim]:
    hurt, well = _HURT.search(clause.text), _WELL.search(clause.text)
    parts = content(clause.text) & (_BODY | _ILLNESS)
    if not (hurt or (well and (parts or clause.names))):
        return
    is_well = (well is not None) != bool(re.search(r"\b(?:not|never)\b", clause.text))
    people = frozenset(stem(name) for name in clause.names) | {word[:-2] for word in _owners(clause)}
    value = frozenset(["well" if is_well else "hurt"])
    yield _claim(clause, "health", people, value, thing=parts & _BODY, moves=is_well)


# What is had or given only in a manner of speaking.
_ABSTRACT = content(
    "strength energy purpose hope love chance idea advice help support joy peace courage attention permission hold hand "
    "hands look kiss hug thought thoughts luck fun feeling sense word words name faith trust heart life eye eyes fire"
)
_GIVES = re.compile(
    r"\b(?:gave|gives|handed|lent|returned|passed|brought|sent|donated|traded|sold|bequeathed)\b(?! (?:birth|up|in)\b)"
)
_GONE = re.compile(r"\b(?:lost|dropped|threw away|gave away|got rid of|let go of|crashed|totalled|donated|sold)\b")
_HAS = re.compile(
    r"\b(?:has|have|owns?|keeps?|kept|carr(?:y|ies|ied)|wears?|wore|holds?|bought|got|received|found|inherited|recovered)\b"
    r"(?! (?:been|to|not)\b)"
)
_PASSIVE_GONE = re.compile(r"\b(?:was|were|is|has been|got) (?:stolen|lost|sold|given away|taken)\b")
_BELONGS = re.compile(r"\bbelongs? to\b")
_PREPOSITION = re.compile(r"\b(?:to|from|in|on|at|for|with|under|into|behind|near|by|of|away|called|named|back|and)\b")


def _keeping(clause: Clause) -> Iterator[Claim]:
    passive, belongs = _PASSIVE_GONE.search(clause.text), _BELONGS.search(clause.text)
    if passive or belongs:
        match = passive or belongs
        assert match is not None
        holder = frozenset(["gone"]) if passive else _after(clause, match)
        yield _claim(
            clause, "keeping", NOTHING, holder, thing=_without_people(_before(clause, match), clause), moves=True
        )
        return
    for pattern, moves in ((_GIVES, True), (_GONE, True), (_HAS, False)):
        match = pattern.search(clause.text)
        if match:
            yield from _held(clause, match, moves)
            return


def _held(clause: Clause, match: re.Match[str], moves: bool) -> Iterator[Claim]:
    rest = clause.text[match.end() :]
    direct = _PREPOSITION.split(rest)[0]
    giver = _before(clause, match)
    thing = _without_people(content(direct), clause) or content(direct)
    receiver = re.search(r"\b(?:to|back to) (?P<name>\S+)", rest)
    people = [word for word in direct.split() if word in clause.names]
    taker = (receiver["name"] if receiver else "") or (people[0] if people and len(content(direct)) > 1 else "")
    if not thing - _ABSTRACT:
        return
    given = frozenset([stem(taker) if taker in clause.names else "gone"])
    holder = given if moves else giver
    definite = moves or bool(re.search(r"\bthe\b|'s\b", direct)) or bool(thing & content(" ".join(clause.names)))
    yield _claim(clause, "keeping" if definite else "having", giver, holder, thing=thing, moves=moves)


def _without_people(words: Words, clause: Clause) -> Words:
    people = frozenset(stem(name) for name in clause.names) | _owners(clause)
    return words - people


_PLACE = re.compile(
    r"(?P<verb>\b(?:is|lies|stands|hangs|(?:is )?(?:hidden|buried|kept|stored|locked)|hid|buried|put|moved|placed|keeps|kept|"
    r"stored|hides))\b(?P<object>(?: (?!in\b|under\b|into\b|to\b|on\b|behind\b)\S+){0,4}) "
    r"(?:in|under|into|to|on|behind|inside|beneath|at)\b"
)


def _place(clause: Clause) -> Iterator[Claim]:
    match = _PLACE.search(clause.text)
    if match is None:
        return
    direct = content(match["object"])
    subject = _before(clause, match)
    thing = _without_people(direct or subject, clause)
    active = match["verb"].split()[-1] in (
        "hid",
        "put",
        "moved",
        "placed",
        "keeps",
        "buried",
        "stored",
        "kept",
        "hides",
    )
    if not thing or (direct and not active) or (not direct and subject & frozenset(map(stem, clause.names))):
        return
    value = _after(clause, match)
    if value and not _WHEN.search(clause.text):
        yield _claim(clause, "place", NOTHING, value, thing=thing)


_WHEN = re.compile(
    r"\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may-month|june|july|august|"
    r"september|october|november|december|noon|midnight|\d{1,2}(?::\d\d)?(?: ?[ap]m)?)\b"
)
_SET = re.compile(
    r"\b(?:is|was|are|been|takes place|starts|begins|happens)\b(?: now| moved| postponed| rescheduled| set| planned)*"
    r" (?:on|to|at|until|for)\b|\b(?:moved|postponed|rescheduled) (?:to|until)\b"
)
_OFF = re.compile(r"\b(?:cancelled|canceled|called off)\b")


def _when(clause: Clause) -> Iterator[Claim]:
    off, date, at = _OFF.search(clause.text), _WHEN.search(clause.text), _SET.search(clause.text)
    if off:
        yield _claim(clause, "when", NOTHING, frozenset(["off"]), thing=_before(clause, off) or _after(clause, off))
    elif at and date and at.start() < date.start():
        thing = _without_people(_before(clause, at), clause)
        value = frozenset(found[0] for found in _WHEN.finditer(clause.text))
        if thing:
            yield _claim(clause, "when", NOTHING, value, thing=thing)


_NAMED = re.compile(
    r"\b(?:names? (?:is|are)|(?:is|was|are)(?: now)? (?:called|named|renamed)|renamed|goes by|called|named)\b"
)


def _name(clause: Clause) -> Iterator[Claim]:
    match = _NAMED.search(clause.text)
    if match and match.start() > 0:
        subject = _before(clause, match)
        own = "names" if match[0].startswith("name") else ""
        value = content(" ".join(clause.text[match.end() :].split()[:3]))
        thing = subject if own else _without_people(subject, clause)
        yield _claim(clause, "name", subject if own else NOTHING, value, thing=thing or subject)


_AGE = re.compile(
    r"\b(?:is|am|turned|turns|are) (?P<age>\d{1,3})(?= years? old|$| now| already| (?:yesterday|today|last|this))"
)


def _age(clause: Clause) -> Iterator[Claim]:
    match = _AGE.search(clause.text)
    if match:
        yield _claim(clause, "age", _before(clause, match), frozenset([match["age"]]))


_COUNTED = re.compile(r"\b(?P<number>\d+) (?P<noun>[a-z-]{3,})\b")


def _count(clause: Clause) -> Iterator[Claim]:
    has = re.search(r"\b(?:has|have|got|owns?|there are|guarded by|left|is home to)\b", clause.text)
    for match in _COUNTED.finditer(clause.text) if has else ():
        if match["noun"] not in STOP_WORDS | {"years", "months", "weeks", "days", "hours", "times", "year"}:
            yield _claim(
                clause, "count", content(clause.text[: has.start()]), frozenset([match["number"]]), thing=content(match["noun"])
            )  # fmt: skip


_HEADS = content(
    "favourite favorite colour color password number address birthday age job capital leader captain owner plan price boss "
    "teacher mentor king queen weapon code motto goal dream mission task enemy partner deadline destination phone height "
    "weight title rank size team crush hairstyle mayor president chief"
)
_IS = re.compile(
    r"\b(?:is|are|was changed to|were changed to|changed to|has become)\b(?: now)?(?! (?:not|in|on|at|under|behind|with)\b)"
)


def _quality(clause: Clause) -> Iterator[Claim]:
    """The captain of the ship is Mira, Mira is the captain of the ship; a favourite colour; a password."""
    match = _IS.search(clause.text)
    if match is None or _negated(clause):
        return
    left, right = clause.text[: match.start()], clause.text[match.end() :]
    holder = re.match(r"^(?P<who>\S+) (?:is|am|are)(?: now)? the (?P<role>[\w-]+ of (?:the )?[\w'-]+)", clause.text)
    if holder:
        yield _claim(clause, "role", NOTHING, content(holder["who"]), thing=content(holder["role"]))
    elif content(left) & _HEADS and 0 < len(content(right)) <= 4:
        yield _claim(clause, "quality", NOTHING, content(right), thing=content(left))


_LOOKS = content("hair beard eyes moustache")


def _looks(clause: Clause) -> Iterator[Claim]:
    words = content(clause.text)
    if words & _LOOKS:
        people = frozenset(stem(name) for name in clause.names) | {word[:-2] for word in _owners(clause)}
        value = words - _LOOKS - _owners(clause) - people - content("cut dyed has wears grew shaved off coloured")
        if value or re.search(r"\b(?:cut|dyed|shaved|grew)\b", clause.text):
            yield _claim(clause, "looks", people, value or frozenset(["changed"]), thing=words & _LOOKS)


POLES = {
    "opening": (r"open(?:ed|s)?|unlocked|ajar", r"closed|shut|locked|sealed|barred|bolted"),
    "ruin": (
        r"destroyed|ruined|burned down|burnt down|collapsed|wrecked|in ruins|broken|out of order|broke down",
        r"rebuilt|repaired|restored|fixed|mended|works again|whole again",
    ),
    "prison": (
        r"prison|jail|imprisoned|captured|arrested|captive|prisoner|in chains",
        r"freed?|released|escaped|acquitted",
    ),
    "war": (r"at war|war|under siege|besieged", r"peace|truce|armistice|siege (?:was|is|has been) (?:lifted|broken)"),
    "pregnancy": (r"pregnant|expecting a (?:baby|child)", r"gave birth|had (?:a|the) baby|miscarriage|baby was born"),
    "absence": (r"missing|disappeared|vanished", r"turned up|came back|reappeared|was found"),
    "diet": (r"vegetarian|vegan", r"eats? (?:meat|fish)|eating (?:\w+ and )?(?:meat|fish|cheese|eggs)"),
    "debt": (r"owes?|owed|in debt", r"paid|repaid|settled|pays? back|debt(?: was| is)? (?:paid|cleared)"),
    "curse": (r"cursed|under a curse|enchanted", r"(?:curse|spell) (?:was |is |has been )?(?:lifted|broken)"),
    "sobriety": (r"smokes?|smoking|drinks too much|addicted", r"(?:quit|stopped|gave up) (?:smoking|drinking)|sober"),
    "sight": (r"blind", r"sees? again|(?:regained|restored) \S+ sight"),
    "duty": (r"on strike|suspended|grounded", r"reinstated|back at work|back to work"),
}
_POLES = {
    name: (re.compile(rf"\b(?:{first})\b"), re.compile(rf"\b(?:{second})\b")) for name, (first, second) in POLES.items()
}


def _poles(clause: Clause) -> Iterator[Claim]:
    for name, (first, second) in _POLES.items():
        one, two = first.search(clause.text), second.search(clause.text)
        if not (one or two):
            continue
        is_second = (two is not None) != _negated(clause)
        rest = content(second.sub(" ", first.sub(" ", clause.text))) - content("stands lies has go went sign make")
        yield _claim(clause, name, rest, frozenset(["second" if is_second else "first"]), moves=True)


_FOR = re.compile(
    r"\b(?:likes?|loved?|loves|enjoys?|adores?|trusts?|trusted|fond of|prefers?|befriended|forgave|friends?|allies|ally|"
    r"in love with|respects?|admires?)\b"
)
_AGAINST = re.compile(
    r"\b(?:hates?|dislikes?|distrusts?|despises?|loathes?|betrayed|betrays|enem(?:y|ies)|angry (?:with|at)|"
    r"can not stand|can not bear|detests?|fell out|falling out)\b"
)


def _attitude(clause: Clause) -> Iterator[Claim]:
    against, favour = _AGAINST.search(clause.text), _FOR.search(clause.text)
    match = against or favour
    if match is None:
        return
    negated = bool(re.search(r"\b(?:not|never|no longer)\b", clause.text)) and "can not" not in match[0]
    good = (against is None) != negated
    value = frozenset(["for" if good else "against"])
    people = content(" ".join(clause.names)) & content(clause.text)
    if len(people) > 1:
        yield _claim(clause, "regard", NOTHING, value, thing=people)
    else:
        after = _after(clause, match)
        yield _claim(clause, "taste", _before(clause, match), value, thing=after)


READERS: list[Callable[[Clause], Iterator[Claim]]] = [
    _home,
    _work,
    _partner,
    _life,
    _health,
    _keeping,
    _place,
    _when,
    _name,
    _age,
    _count,
    _quality,
    _looks,
    _poles,
    _attitude,
]
