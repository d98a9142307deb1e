"""Answer the task ``triggers``: choose the keywords that recall a memory."""

import re

from apps.builtin.names import names_in
from apps.english.clauses import split_speaker
from apps.english.words import STOP_WORDS
from apps.extraction.parsers.triggers import LENGTHS, MAX_WORDS, format_triggers
from apps.llm.generation import GenerationRequest

MIN_LETTERS = 4
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*(?!['’\w])")
_NO_NOUN = re.compile(r"(?:ly|ed|ing|ful|ous|able|ible|est|ive)$")
# Determiners and the like, after which a word is mostly a noun.
_MARKER = re.compile(
    r"\b(?:the|a|an|his|her|my|your|our|their|of|some|this|that|no)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE
)


def triggers(request: GenerationRequest) -> str:
    """Return a line with the trigger words of each memory."""
    found = {memory["number"]: trigger_words(memory["text"]) for memory in request.material["memories"]}
    return format_triggers({number: words for number, words in found.items() if words}) or "NONE"


def trigger_words(text: str) -> list[str]:
    """Return at most MAX_WORDS nouns, recognized by the determiner before them, the longest first."""
    said = split_speaker(text)[1]
    names = {word.casefold() for name in names_in(text) for word in name.split()}
    found = {
        match[0].lower()
        for match in _WORD.finditer(said)
        if len(match[0]) >= MIN_LETTERS and len(match[0]) in LENGTHS and _MARKER.search(said, 0, match.start())
    }
    nouns = {word for word in found - names if word not in STOP_WORDS and not _NO_NOUN.search(word)}
    return sorted(nouns, key=lambda word: (-len(word), word))[:MAX_WORDS]
