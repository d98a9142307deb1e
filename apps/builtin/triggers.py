"""The task ``triggers``, and the words of a memory that bring it up: its nouns, as far as rules tell. Pure."""

import re
from collections.abc import Iterator

from apps.builtin.names import names_in
from apps.extraction.parsers.triggers import LENGTHS, MAX_WORDS, print_triggers
from apps.llm.generation import GenerationRequest
from apps.memories.wording import STOP_WORDS, split_speaker

LEAST_LETTERS = 4
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_NO_NOUN = re.compile(r"(?:ly|ed|ing|ful|ous|able|ible|est|ive)$|['’]")
# Common words that say nothing of what a memory is about.
_COMMON = frozenset(
    """about after again also always another around back because been before being between both came come could down
    during each even ever every everything feel felt find first found from gave give goes going gone good great
    hard have having here hope into just keep kept knew know last later left less like little long look lots
    love made make many maybe more most much must need never next nothing often once only other over people
    really said same seem seen self sent should since some something soon still such sure take than that their
    them then there these they thing things think this those though thought time times today told tomorrow took
    under until upon very want wants went were what when where which while will with without would year years
    yesterday your live lives work works mean means tell tells best better bought brought held hold holds kind
    lost nice part right second sold start stay swore sworn talk three four five seven eight nine well wish wore
    wrote alone along already away enough month months week weeks days night morning evening moment lately
    recently together yeah awesome amazing happy excited glad""".split()
)
_MARKER = re.compile(
    r"\b(?:the|a|an|his|her|my|your|our|their|of|some|this|that|no|old|new)\s+(?:[\w-]+\s+)?$", re.IGNORECASE
)
_SIBILANT = ("s", "x", "z", "ch", "sh")


def triggers(request: GenerationRequest) -> str:
    """The words of each memory."""
    found = {memory["number"]: trigger_words(memory["text"]) for memory in request.material["memories"]}
    return print_triggers({number: words for number, words in found.items() if words}) or "NONE"


def trigger_words(text: str) -> list[str]:
    """MAX_WORDS words at most: those that an article or the like marks as nouns first, then their other number."""
    said = split_speaker(text)[1]
    names = {word.casefold() for name in names_in(text) for word in name.split()}
    found = [
        (not _MARKER.search(said[: match.start()]), match.start(), match[0].lower()) for match in _nouns(said, names)
    ]
    words = list(dict.fromkeys(word for _, _, word in sorted(found)))[:MAX_WORDS]
    related = [form for word in words for form in _other_number(word) if form not in words]
    return [*words, *related][:MAX_WORDS]


def _nouns(text: str, names: set[str]) -> Iterator[re.Match[str]]:
    for match in _WORD.finditer(text):
        word = match[0].casefold()
        usable = len(word) >= LEAST_LETTERS and len(word) in LENGTHS
        if usable and not (word in names or word in _COMMON or word in STOP_WORDS or _NO_NOUN.search(word)):
            yield match


def _other_number(word: str) -> Iterator[str]:
    """The plural of a singular and the other way round, where English forms it as usual."""
    if not word.isascii():
        return
    if word.endswith("ies"):
        yield f"{word[:-3]}y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        yield word[:-1]
    elif word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        yield f"{word[:-1]}ies"
    else:
        yield f"{word}es" if word.endswith(_SIBILANT) else f"{word}s"
