"""Does a newer statement replace an older one? Pure, by rules.

Two statements are compared when they are about the same subject. The newer one replaces the older where both fill
the same frame (where somebody lives, what they do, whom they are with, who has a thing ...) with different values, or
where they say the same with a negation, a number or a name changed, or where the newer one says in so many words
that something is over.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

STOP_WORDS = frozenset(
    """a an the and or but so then of in on at to from by for with as is are was were be been being am has have had do
    does did it its this that these those there here he she they we i you his her their our my your him them me us not
    no never now again still just only very too also who whom which what when where while will would s t re ve ll d m
    after before since until into out up down over under about than more most some any all both each every own same
    said says told""".split()
)
_NEGATION = re.compile(
    r"\b(?:not|never|no longer|isn['’]t|aren['’]t|wasn['’]t|weren['’]t|doesn['’]t|don['’]t|didn['’]t|hasn['’]t|"
    r"haven['’]t|hadn['’]t|can['’]t|cannot|won['’]t|without|nobody|no one|nothing)\b",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:no longer|not any ?more|any ?more|used to|formerly|once was|has since|have since|ceased|gave up|given up|"
    r"stopped|quit|instead of|from now on|is over|fell apart|turned out|the truth is|was a lie|lied)\b",
    re.IGNORECASE,
)
_NUMBERS = dict(
    zip(
        "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred".split(),
        map(str, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 30, 40, 50, 60, 100]),
        strict=True,
    )
)
_SPEAKER = re.compile(r"^(?P<name>[^:“\"]{1,60}): (?P<said>.*)$", re.DOTALL)
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_NAME = re.compile(r"[^\W\d_a-zß-öø-ÿ][\w'’-]*")


@dataclass(frozen=True)
class Frame:
    """Something of which a subject has one value at a time: ``pattern`` finds it, ``value`` reads it from the finds."""

    name: str
    pattern: re.Pattern[str]
    value: Callable[[list[re.Match[str]]], str]

    def read(self, statement: str) -> str | None:
        """The value that the statement gives, or None where it says nothing of it."""
        found = list(self.pattern.finditer(statement))
        return self.value(found) if found else None


@dataclass(frozen=True)
class Change:
    """The newer statement replaces the older one; ``reason`` says by what rule."""

    reason: str


def _words_after(found: list[re.Match[str]]) -> str:
    """What the first find names behind its verb."""
    return found[0]["value"].lower()


def _words_found(found: list[re.Match[str]]) -> str:
    return found[0][0].lower()


def _either(pattern: str, value: str, otherwise: str) -> Callable[[list[re.Match[str]]], str]:
    """``value`` where any find has ``pattern`` in it."""
    return lambda found: value if any(re.search(pattern, match[0], re.IGNORECASE) for match in found) else otherwise


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_REST = r"(?P<value>[^.,;!?”\"]{2,60})"
FRAMES = [
    Frame(
        "home",
        _compile(
            r"\b(?:liv(?:es?|ed|ing) (?:in|at|on|with|above|over|under|by|near)|mov(?:es?|ed|ing) (?:in(?:to| with)?|to|out to)|"
            rf"home is|settled in|resides? in|rents? a room (?:in|on|at)) {_REST}"
        ),
        _words_after,
    ),
    Frame(
        "work",
        _compile(
            r"\b(?:works? (?:as|at|for|in)|worked (?:as|at|for)|is (?:now )?employed (?:as|at|by)|i['’]?m a|became|becomes|"
            r"quit|resigned|was fired from|was promoted to|apprentice(?:d)? to|new job (?:as|at|is)|hired (?:as|by))"
            rf" {_REST}"
        ),
        _words_after,
    ),
    Frame(
        "partner",
        _compile(
            r"\b(?:(?:got |is |was |are |were )?(?:married|engaged|divorced|separated|widowed|single)|broke up|"
            r"is dating|are dating|left (?:her|his|my) (?:husband|wife|partner))\b(?: (?:to|from|with) (?P<value>[\w’'-]+))?"
        ),
        _words_found,
    ),
    Frame(
        "life",
        _compile(r"\b(?:is alive|still alive|survived|died|is dead|was dead|drowned|was killed|passed away|is living)\b"),
        _either("alive|survived|living", "alive", "dead"),
    ),
    Frame(
        "wound",
        _compile(
            r"\b(?:heal(?:s|ed)?|recovered|cured|is well again|scar|stitches (?:came|are) out|cut|wound(?:ed)?|broken|broke|"
            r"injured|bleeding|stitches|limps?|sprained|fever|sick|ill)\b"
        ),
        _either(r"heal|recovered|cured|well again|scar|(?:came|are) out", "healed", "hurt"),
    ),
    Frame(
        "name",
        _compile(
            rf"\b(?:is (?:now )?called|is named|was renamed|renamed|real name is|true name is|goes by) {_REST}"
        ),
        _words_after,
    ),
    Frame(
        "debt",
        _compile(r"\b(?:owes?|owed|in debt|paid|repaid|settled|pays? back|debt)\b"),
        _either(r"paid|settled|pays? back", "paid", "owed"),
    ),
    Frame(
        "trust",
        _compile(
            r"\b(?:(?:does not|doesn['’]t|did not|didn['’]t|don['’]t|do not|never) trust|distrusts?|betray(?:s|ed)|sold (?:us|them)|"
            r"enem(?:y|ies)|trusts?|trusted|friends?|all(?:y|ies))\b"
        ),
        _either(r"n['’]t trust|not trust|never trust|distrust|betray|sold|enem", "against", "with"),
    ),
    Frame(
        "keeping",
        _compile(
            r"\b(?:lost|stolen|stole|gave away|sold|recovered|given back|gave (?:it|her|him|them) back|returned|found|"
            r"hid|hidden|kept|keeps?|carr(?:y|ies|ied)|owns?)\b"
        ),
        _either(r"lost|stole|gave away|sold", "gone", "there"),
    ),
    Frame(
        "promise",
        _compile(r"\b(?:promis(?:e[sd]?|ing)|swore|vow(?:s|ed)?|kept (?:his|her|my|the|their) promise|broke (?:his|her|my) word)\b"),
        _either("kept|broke", "over", "made"),
    ),
]  # fmt: skip
# Frames that are about a thing or an event as much as about a person: the statements must share a noun as well.
_ABOUT_A_THING = {"keeping", "promise", "debt", "wound", "trust"}


def change_between(old: str, new: str) -> Change | None:
    """Whether ``new``, said later, replaces ``old``; None where both may hold."""
    if _normal(old) == _normal(new):
        return None
    return _changed_frame(old, new) or _changed_detail(old, new) or _said_to_be_over(old, new)


def _changed_frame(old: str, new: str) -> Change | None:
    if not subjects(old) & subjects(new):
        return None
    for frame in FRAMES:
        before, after = frame.read(_statement(old)), frame.read(_statement(new))
        if before is None or after is None or (frame.name in _ABOUT_A_THING and not _shared_things(old, new)):
            continue
        if _differ(before, after):
            return Change(frame.name)
    return None


def _differ(before: str, after: str) -> bool:
    """Different values, not one said in more words."""
    first, second = content_words(before), content_words(after)
    return not (first <= second or second <= first) if first and second else before != after


def _changed_detail(old: str, new: str) -> Change | None:
    """Nearly the same words with a negation, a number or a name changed."""
    common = content_words(old) & content_words(new)
    smaller, larger = sorted((len(content_words(old)), len(content_words(new))))
    same = subjects(old) & subjects(new) or not (subjects(old) or subjects(new))
    if not same or smaller < 2 or len(common) / smaller < 0.6 or len(common) / larger < 0.4:
        return None
    if bool(_NEGATION.search(_statement(old))) != bool(_NEGATION.search(_statement(new))):
        return Change("negation")
    if numbers(old) and numbers(new) and numbers(old) != numbers(new):
        return Change("number")
    before, after = names(old) - names(new), names(new) - names(old)
    return Change("name") if before and after and len(common) / smaller >= 0.7 else None


def _said_to_be_over(old: str, new: str) -> Change | None:
    shared = content_words(old) & content_words(new)
    over = _OVER.search(_statement(new)) and not _OVER.search(_statement(old))
    if over and subjects(old) & subjects(new) and len(shared - _lower(names(old))) >= 2:
        return Change("over")
    return None


def contradicts(old: str, new: str) -> bool:
    """Whether two statements that look alike can't both hold; such a pair is never a duplicate."""
    return change_between(old, new) is not None


@lru_cache(maxsize=4096)
def _statement(text: str) -> str:
    """What is said, without who says it."""
    match = _SPEAKER.match(text)
    return match["said"].strip("“”\"' ") if match else text


@lru_cache(maxsize=4096)
def subjects(text: str) -> frozenset[str]:
    """Whom a statement may be about, in lower case: who says it, where it says "I", and the names in it."""
    match = _SPEAKER.match(text)
    found = _lower(names(text))
    if match and not re.search(r"\b(?:i|my|me|we|our|i['’]\w+)\b", match["said"], re.IGNORECASE):
        found -= {word.lower() for word in match["name"].split()} - _lower(names(match["said"]))
    return frozenset(found)


@lru_cache(maxsize=4096)
def names(text: str) -> frozenset[str]:
    """Capitalised words that are neither common words nor numbers, possessives taken off."""
    words = (re.sub(r"['’]s$", "", match[0]) for match in _NAME.finditer(text))
    return frozenset(word for word in words if len(word) > 1 and word.lower() not in STOP_WORDS)


@lru_cache(maxsize=4096)
def numbers(text: str) -> frozenset[str]:
    words = (match[0].lower() for match in _WORD.finditer(_statement(text)))
    return frozenset(_NUMBERS.get(word, word) for word in words if word in _NUMBERS or word[0].isdigit())


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """The words that carry meaning, in lower case and roughly stemmed."""
    words = (match[0].lower().replace("’", "'") for match in _WORD.finditer(text))
    return frozenset(_stem(word) for word in words if word not in STOP_WORDS)


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def _shared_things(old: str, new: str) -> frozenset[str]:
    """What both statements name beside people and the words of the frames themselves."""
    shared = content_words(_statement(old)) & content_words(_statement(new))
    own = {
        _stem(word) for frame in FRAMES for match in frame.pattern.finditer(old) for word in match[0].lower().split()
    }
    return frozenset(word for word in shared - own - {_stem(name.lower()) for name in names(old)} if not word.isdigit())


def _lower(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word.lower() for word in words)


def _normal(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))
