"""How a statement is worded: who says it, its clauses, its names, numbers and words of meaning. Pure.

First and third person pronouns are put back to whom they stand for, as far as that is certain, so that ``Mira: “I live
in Paris.”`` and ``Mira lives in Paris.`` read alike; ``I`` that nobody says, ``The user`` and ``{{user}}`` are one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from apps.memories.lexicon import stem

__all__ = ["CALENDAR", "STOP_WORDS", "TITLES", "Clause", "clauses", "content_words", "jaccard", "split_speaker", "stem"]

STOP_WORDS = frozenset(
    """a an the and or but so then of in on at to from by for with as is are was were be been being am has have had do
    does did it its this that these those there here he she they we i you his her their our my your him them me us not
    no never now again still just only very too also who whom which what when where while will would shall should can
    could may might must s t re ve ll d m after before since until into out up down over under about than more most
    some any all both each every own same said says told finally already really well yes oh ago last next week month
    year day today yesterday tomorrow recently soon later longer anymore""".split()
)
_NOT_NAMES = STOP_WORDS | frozenset(
    """during despite inside outside behind beneath beside within among between across along around near above below
    throughout upon once though although peace nobody everybody everyone someone somebody anybody anyone one old
    young people turns hey hi hello thanks monday tuesday wednesday thursday friday saturday sunday""".split()
)
TITLES = frozenset(
    """mr mrs ms miss dr captain brother sister father mother madame lord lady sir king queen aunt uncle prince princess
    duke duchess baron count countess emperor empress lieutenant sergeant colonel general major commander admiral
    professor doctor president judge inspector detective saint master mistress grandma grandpa old young
    little""".split()
)
USER = "user"  # who speaks, where it is not said
NUMBER_WORDS = dict(
    zip(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand".split(),
        map(str, [*range(1, 21), 30, 40, 50, 60, 70, 80, 90, 100, 1000]),
        strict=True,
    )
) | {"dozen": "12"}
_ORDINALS = {
    f"{word.removesuffix('e').removesuffix('t') if word in ('five', 'nine', 'eight') else word}th": number
    for word, number in NUMBER_WORDS.items()
    if int(number) > 3
} | {"fifth": "5", "twelfth": "12", "twentieth": "20", "thirtieth": "30", "fortieth": "40", "fiftieth": "50"}
HOURS = 12  # of a half of the day
MAY = "may-month"  # not the verb
CALENDAR = frozenset(
    f"""monday tuesday wednesday thursday friday saturday sunday january february march april {MAY} june july august
    september october november december""".split()
)
_SPEAKER = re.compile(r"^(?P<name>[^:“\"\n]{1,60}): (?P<said>.*)$", re.DOTALL)
_WORD = re.compile(r"\w+(?:['’-]\w+|[:.](?=\d)\w+)*")


def _time(half: str) -> Callable[[re.Match[str]], str]:
    """Six in the evening as 6pm; what is no hour stays as it is."""

    def written(match: re.Match[str]) -> str:
        hour = NUMBER_WORDS.get(match[1].lower(), match[1])
        return f"{hour}{half}" if hour.isdigit() and int(hour) <= HOURS else match[0]

    return written


_WRITTEN: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"\{\{user\}\}|\bthe (?:user|player)\b", "User"),
    (r"\{\{char\}\}", "Char"),
    (r"[“\"‘]((?:[\w'’-]+ ?){1,3})[”\"’](?=\W|$)", r"\1"),
    (r"\b(?:a )?(?:pair|couple) of\b", "two"),
    (r"\b(mr|mrs|ms|dr|st)\.", r"\1"),
    (r"(?<=\d),(?=\d{3}\b)|[$€£](?=\d)", ""),
    (r"(\d)(?:st|nd|rd|th)\b", r"\1"),
    (r"(\d)\s+([ap])\.?m\b", r"\1\2m"),
    (r"(\d)(kg|km|cm|lbs?|gb|mb)\b", r"\1 \2"),
    (r"\bcan['’]t\b|\bcannot\b", "can not"),
    (r"\bwon['’]t\b", "will not"),
    (r"n['’]t\b", " not"),
    (r"\b(i)['’]m\b", r"\1 am"),
    (r"['’]re\b", " are"),
    (r"['’]ve\b", " have"),
    (r"['’]ll\b", " will"),
    (r"\b(\w+) o['’]clock\b", r"\1"),
    (r"\b(\w+) in the morning\b", _time("am")),
    (r"\b(\w+) (?:in the (?:afternoon|evening)|at night)\b", _time("pm")),
    (r"\b(is|are|was|were|of) mine\b", r"\1 my-own"),  # and not the mine
    (r"\b(?:turn(?:s|ed) out|prove[sd]?|happens?) to be\b", "is"),
    (r"\b(?:was|were) (?:raised|brought up)\b", "grew up"),
    (r"\b(?:(?:has|have) (?:room|space) for|can (?:hold|seat|accommodate))\b", "can carry"),
    (r"\bcan not (?:stand|bear|abide)\b", "hate"),
    (r"\b(?:do|does|did) not eat (?:any )?meat\b", "is vegetarian"),
    (r"\b(?:(?:is|are|am) in love with|(?:has |have )?(?:fallen|fell) (?:in love with|for))\b", "loves"),
    (r"\b(?:is|are|am) (?:a|the) (?:mother|father|parent) of\b", "has"),
    (r"\b(?:is|are|am) the owners? of\b", "owns"),
    (r"\b(?:is|are) the property of\b", "belongs to"),
    (r"\b(?:has|have) (?:a|an) (?:\w+ )?(?:fear|phobia) of\b", "is afraid of"),
    (r"\b(he|she|it|that|there|who|what)['’]s\b", r"\1 is"),
]
_SPELLINGS = [(re.compile(pattern, re.IGNORECASE), full) for pattern, full in _WRITTEN]
# A clause ends at these signs and before these words.
_BREAK = re.compile(
    r"(?<!\d)[.,:]+\s*|[.,:]+(?!\d)\s*|[;!?()“”\"–—]+\s*|\s+(?=(?:but|because|when|while|which|who|although|though|since)\b)",
    re.IGNORECASE,
)
_ANAPHORA = frozenset("he she they who".split())
_POSSESSIVE_ANAPHORA = frozenset("his her their".split())
_AFTER_AN_OBJECT = frozenset("to from in on at for with and or by back away again about of as".split())


@dataclass(frozen=True)
class Clause:
    """The words of a clause in lower case, possessives as ``mira's``, and those among them that are names."""

    words: tuple[str, ...]
    names: frozenset[str]

    @cached_property
    def text(self) -> str:
        return " ".join(self.words)


def split_speaker(text: str) -> tuple[str, str]:
    """Who says it, or nothing, and what is said."""
    match = _SPEAKER.match(text)
    return (match["name"], match["said"].strip("“”\"' ")) if match else ("", text)


@lru_cache(maxsize=4096)
def clauses(text: str) -> tuple[Clause, ...]:
    """The statement's clauses in order."""
    speaker, said = split_speaker(text)
    for pattern, full in _SPELLINGS:
        said = pattern.sub(full, said)
    found: list[Clause] = []
    who, subject = _key(speaker), ""  # "she", said by Mira, is not Mira
    for part in filter(None, map(str.strip, _BREAK.split(said))):
        clause = _clause(part, who or USER, subject, begins=not found)
        subject = next((word for word in clause.words if word in clause.names - CALENDAR), subject)
        found.append(clause)
    return tuple(found)


def _key(name: str) -> str:
    """The one word of a name by which a person is known."""
    words = [word for word in name.lower().split() if word.strip(".") not in TITLES] or name.lower().split()
    return words[0] if words else ""


def _clause(part: str, speaker: str, subject: str, *, begins: bool) -> Clause:
    words: list[str] = []
    names: set[str] = set()
    raw = _WORD.findall(part.replace("’", "'"))
    for position, written in enumerate(raw):
        spoken = MAY if written == "May" and position else written.lower()
        word = _resolved(spoken, raw[position + 1 : position + 2], speaker, subject)
        if _is_name(written, first=begins and position == 0) or word != spoken or word == MAY:
            names.add(word.removesuffix("'s"))
            subject = subject if word in CALENDAR else word.removesuffix("'s")
        words.append(_number(word))
    return Clause(_multiplied(words), frozenset(names))


def _multiplied(words: list[str]) -> tuple[str, ...]:
    """Ten thousand as one number."""
    result: list[str] = []
    for word in words:
        if result and word in ("100", "1000") and result[-1].isdigit():
            result[-1] = str(int(result[-1]) * int(word))
        else:
            result.append(word)
    return tuple(result)


def _number(word: str) -> str:
    """A number in words as digits, from one to a hundred; anything else as it is."""
    tens, _, ones = word.partition("-")
    if tens in NUMBER_WORDS and ones in NUMBER_WORDS:
        return str(int(NUMBER_WORDS[tens]) + int(NUMBER_WORDS[ones]))
    return NUMBER_WORDS.get(word) or _ORDINALS.get(word, word)


def _resolved(word: str, following: list[str], speaker: str, subject: str) -> str:
    if word in ("i", "me", "myself", "we", "us"):
        return speaker
    if word in ("my", "my-own", "our", "ours"):
        return f"{speaker}'s"
    if word in _ANAPHORA and word != "who":
        return subject or f"{word}-unnamed"
    if word == "who" and subject:
        return subject
    if word in _POSSESSIVE_ANAPHORA and following and following[0].lower() not in _AFTER_AN_OBJECT:
        return f"{subject or word}'s"
    return word


def _is_name(token: str, *, first: bool) -> bool:
    word = token.lower().removesuffix("'s")
    return token[0].isupper() and len(word) > 1 and word not in (_NOT_NAMES if first else STOP_WORDS)


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """The words that carry meaning, in lower case and roughly stemmed; punctuation and common words don't."""
    words = (match[0].lower().replace("’", "'") for match in _WORD.finditer(text))
    return frozenset(stem(word) for word in words if word not in STOP_WORDS)


def jaccard(first: str, second: str) -> float:
    """The share of the words of both that both have; punctuation, case and common words don't count."""
    one, two = content_words(first), content_words(second)
    return len(one & two) / len(one | two) if one | two else 1.0
