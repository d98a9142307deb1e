"""The names that a text holds. Pure."""

import re
from collections import Counter
from collections.abc import Iterable

from apps.extraction.parsers.memories import UNKNOWN, NamedEntity

_WORD = r"[^\W\d_a-zß-öø-ÿ][\w'’-]*"
_TITLE = r"(?:(?:Mr|Mrs|Ms|Dr|St)\.\s+)?"
_NAME = re.compile(rf"{_TITLE}{_WORD}(?:\s+(?:of\s+the\s+|of\s+|the\s+|de\s+|von\s+|van\s+)?{_WORD}){{0,5}}")
_START = re.compile(r"(?:^|[.!?:;…\"“”«»*\n]\s*|(?<!\w)['‘])$")
_NEAR = 8  # characters before a name that tell whether it begins a sentence

# Capitalised in English without being anybody's name.
NOT_NAMES = frozenset(
    """i i'm i've i'll i'd monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december god mr mrs ms dr yes no oh well ok okay hey hi hello thanks
    thank please sorry wow congrats lol english french the a an and but or so if then there here this that these those
    what when where who why how it its he she they we you his her their our my your not never now today tomorrow
    yesterday maybe perhaps just even still only also let come go look listen wait good great nice""".split()
)
_PLACES = frozenset(
    """street road lane avenue square house inn tavern hall tower bridge harbour harbor port city town village island
    isle mountain mount river lake bay forest woods castle keep temple abbey church cathedral school academy library
    market station park valley ferry mile quay north south east west""".split()
)
_FACTIONS = frozenset(
    """company guild order court council army navy league brotherhood sisterhood clan house wardens guard watch union
    church party corporation inc agency gang crew tribe""".split()
)
_GERMAN = re.compile(
    r"\b(?:ich|du|er|sie|wir|und|der|die|das|ist|nicht|mit|ein|eine|einen|einem|einer|dem|den|des|war|hat|habe|sich|auf|vor|"
    r"mein|meine|meiner|meinen|sein|seine|seiner|ihr|ihre|ihrer|zu|im|am|von|aus|nach|seit|bei)\b"
)
_PAUSES = tuple(",.!?…")
_CALLS = frozenset("hey hi hello thanks wow oh so yeah dear".split())
_PLACE_BEFORE = re.compile(r"\b(?:in|at|to|from|near|outside|inside|toward|towards|through|leave|left|reached)\s+$")


def names_in(text: str, known: Iterable[str] = ()) -> list[str]:
    """The names in ``text``, in order, each once. A word that begins a sentence is one only if it is ``known``."""
    certain = {name.casefold() for name in known}
    found: dict[str, str] = {}
    for match in _NAME.finditer(text):
        name = _trim(match[0], begins=_begins(text, match.start()), certain=certain)
        if len(name) > 1:
            found.setdefault(name.casefold(), name)
    return list(found.values())


def _begins(text: str, start: int) -> bool:
    return bool(_START.search(text, max(start - _NEAR, 0), start))


def _trim(name: str, *, begins: bool, certain: set[str]) -> str:
    """The name without the words around it that are none, and without a possessive."""
    titled = re.match(_TITLE, name)
    words = name[titled.end() if titled else 0 :].split()
    if (
        begins
        and not (titled and titled[0])
        and words
        and words[0].casefold() not in certain
        and name.casefold() not in certain
    ):
        words = words[1:]
    while words and (_bare(words[0]) in NOT_NAMES or words[0][0].islower()):
        words = words[1:]
    while words and (_bare(words[-1]) in NOT_NAMES or words[-1][0].islower()):
        words = words[:-1]
    return re.sub(r"['’]s?$", "", " ".join(words))


def _bare(word: str) -> str:
    return word.casefold().replace("’", "'")


def known_names(texts: Iterable[str], participants: Iterable[str]) -> set[str]:
    """Names that are sure: the participants', and words capitalised within sentences."""
    counts: Counter[str] = Counter()
    for text in texts:
        for name in names_in(text):
            counts.update({name, *name.split()})
    return {name for name in counts if _bare(name) not in NOT_NAMES} | {name for name in participants if name}


def surely_names(names: Iterable[str], text: str, participants: Iterable[str]) -> list[str]:
    """The names that are surely some: in German, which capitalises every noun, the participants' alone."""
    if len(set(_GERMAN.findall(text.lower()))) < 2:
        return list(names)
    people = _parts_of(participants)
    return [name for name in names if name.casefold() in people]


def _parts_of(participants: Iterable[str]) -> set[str]:
    return {part.casefold() for person in participants for part in (person, *person.split())}


def addressed(name: str, text: str) -> bool:
    """Whether the text only calls ``name``: "Thanks, Mira!" tells nothing of her."""
    before, *rest = text.split(name)
    for after in rest:
        word = before.rstrip()
        called = not word or word.endswith(_PAUSES) or word.split()[-1].casefold() in _CALLS
        if not called or (after.strip() and not after.lstrip().startswith(_PAUSES)):
            return False
        before = after
    return bool(rest)


def entity(name: str, text: str, participants: Iterable[str]) -> NamedEntity:
    """``name`` with its kind, as far as simple cues tell."""
    words = [word.casefold() for word in name.split()]
    if name.casefold() in _parts_of(participants):
        return NamedEntity(name, "character")
    if words[-1] in _PLACES or _PLACE_BEFORE.search(text[: max(text.find(name), 0)]):
        return NamedEntity(name, "place")
    return NamedEntity(name, "faction" if words[-1] in _FACTIONS else UNKNOWN)
