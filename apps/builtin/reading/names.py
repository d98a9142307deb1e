"""Find names in a text and the types of the entities they name. Without database access."""

import re
from collections import Counter
from collections.abc import Iterable

from apps.extraction.memories.lines import UNKNOWN_KIND, NamedEntity

_WORD = r"[^\W\d_a-zß-öø-ÿ][\w'’-]*"
_TITLE = r"(?:(?:Mr|Mrs|Ms|Dr|St)\.\s+)?"
_NAME = re.compile(rf"{_TITLE}{_WORD}(?:\s+(?:of\s+the\s+|of\s+|the\s+|de\s+|von\s+|van\s+)?{_WORD}){{0,5}}")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…\"“”«»*\n]\s*|(?<!\w)['‘])$")
_SENTENCE_START_WINDOW = 8  # number of characters before a name in which the end of the previous sentence is searched

# Words that English capitalizes without their being names; but a participant may be called so.
RARELY_NAMES = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday mon tue tues wed weds thu thur thurs fri sat sun january
    february march april may june july august september october november december feb apr aug sep sept oct nov dec
    zen""".split()
)
# Others, which are none in any chat.
NOT_NAMES = RARELY_NAMES | frozenset(
    """i i'm i've i'll i'd god mr mrs ms dr yes no oh well ok okay hey hi hello thanks
    thank please sorry wow congrats lol english french the a an and but or so if then there here this that these those
    what when where who why how it its he she they we you his her their our my your not never now today tomorrow
    yesterday maybe perhaps just even still only also let come go look listen wait good great nice""".split()
)
_PLACES = frozenset(
    """street road lane square house inn tavern hall tower bridge harbour harbor port city town village island mountain
    river lake bay forest castle temple abbey church school market station park valley""".split()
)
_FACTIONS = frozenset(
    "company guild order court council army league brotherhood clan guard union party gang crew".split()
)
_GERMAN = re.compile(
    r"\b(?:ich|du|er|sie|wir|und|der|die|das|ist|nicht|mit|ein|eine|einen|einem|dem|den|war|hat|habe|sich|auf|vor|mein|"
    r"meine|sein|seine|ihr|zu|im|am|von|aus|seit|bei)\b"
)
_PAUSE_MARKS = tuple(",.!?…")
_GREETINGS = frozenset("hey hi hello thanks wow oh so yeah dear".split())
_PLACE_BEFORE = re.compile(r"\b(?:in|at|to|from|near|outside|inside|towards?|through|leave|left|reached)\s+$")


def names_in(text: str, known: Iterable[str] = ()) -> list[str]:
    """Return the names in ``text``, in order, each once. The first word of a sentence counts only if ``known``."""
    certain = {name.casefold() for name in known}
    names: dict[str, str] = {}
    for match in _NAME.finditer(text):
        begins = _SENTENCE_START.search(text, max(match.start() - _SENTENCE_START_WINDOW, 0), match.start())
        name = _trim_name(match[0], starts_sentence=bool(begins), certain=certain)
        if len(name) > 1:
            names.setdefault(name.casefold(), name)
    return list(names.values())


def _trim_name(name: str, *, starts_sentence: bool, certain: set[str]) -> str:
    """Return the name without leading and trailing words that are not part of it, and without a possessive."""
    title = re.match(_TITLE, name)
    start = title.end() if title else 0
    words = name[start:].split()
    if starts_sentence and not start and words and not {words[0].casefold(), name.casefold()} & certain:
        words = words[1:]
    while words and not _may_be_name(words[0], certain):
        words = words[1:]
    while words and not _may_be_name(words[-1], certain):
        words = words[:-1]
    return re.sub(r"['’]s?$", "", " ".join(words))


def _may_be_name(word: str, certain: set[str]) -> bool:
    """Return whether a word may stand at the beginning or the end of a name."""
    plain = re.sub(r"'s?$", "", _normalized(word))
    return word[0].isupper() and (plain not in NOT_NAMES or (plain in RARELY_NAMES and plain in certain))


def _normalized(word: str) -> str:
    return word.casefold().replace("’", "'")


def known_names(texts: Iterable[str], participants: Iterable[str]) -> set[str]:
    """Return the certain names: the participants' and words that are capitalized within a sentence."""
    counts: Counter[str] = Counter()
    for text in texts:
        for name in names_in(text):
            counts.update({name, *name.split()})
    return {name for name in counts if _normalized(name) not in NOT_NAMES} | {name for name in participants if name}


def certain_names(names: Iterable[str], text: str, participants: Iterable[str]) -> list[str]:
    """Return the certain names among ``names``; in German, which capitalizes every noun, only the participants'."""
    people = _name_parts(participants)
    german = len(set(_GERMAN.findall(text.lower()))) > 1
    return [name for name in names if not german or name.casefold() in people]


def _name_parts(participants: Iterable[str]) -> set[str]:
    return {part.casefold() for person in participants for part in (person, *person.split())}


def is_only_addressed(name: str, text: str) -> bool:
    """Return whether a text only addresses the person, as in "Thanks, Mira!", and says nothing about them."""
    before, *rest = text.split(name)
    for after in rest:
        word = before.rstrip()
        addressed = not word or word.endswith(_PAUSE_MARKS) or word.split()[-1].casefold() in _GREETINGS
        if not addressed or (after.strip() and not after.lstrip().startswith(_PAUSE_MARKS)):
            return False
        before = after
    return bool(rest)


def typed_entity(name: str, text: str, participants: Iterable[str]) -> NamedEntity:
    """Return ``name`` with its type, recognised by its last word or the words before it, else UNKNOWN_KIND."""
    last = name.casefold().split()[-1]
    if name.casefold() in _name_parts(participants):
        return NamedEntity(name, "character")
    if last in _PLACES or _PLACE_BEFORE.search(text[: max(text.find(name), 0)]):
        return NamedEntity(name, "place")
    return NamedEntity(name, "faction" if last in _FACTIONS else UNKNOWN_KIND)
