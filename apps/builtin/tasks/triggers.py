"""Answer the task ``triggers``: choose the keywords that recall a memory."""

import re

from apps.builtin.reading.names import names_in
from apps.english.clauses import split_speaker
from apps.english.words import STOP_WORDS
from apps.extraction.memories.triggers import format_triggers
from apps.llm.generation import GenerationRequest
from apps.memories.trigger_words import LENGTHS, MAX_WORDS

MIN_LETTERS = 4
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*(?!['’\w])")
_NOT_A_NOUN = re.compile(r"(?:ly|ed|ing|ful|ous|able|ible|est|ive)$")
# Determiners and "of", after which a word is usually a noun.
_DETERMINER = re.compile(
    r"\b(?:the|a|an|his|her|my|your|our|their|of|some|this|that|no)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE
)


def triggers(request: GenerationRequest) -> str:
    """Return a line with the trigger words of each memory."""
    words_by_number = {memory["number"]: telling_nouns(memory["text"]) for memory in request.material["memories"]}
    return format_triggers({number: words for number, words in words_by_number.items() if words}) or "NONE"


def telling_nouns(text: str) -> list[str]:
    """Return at most MAX_WORDS nouns, recognized by the determiner before them, the longest first."""
    speech = split_speaker(text)[1]
    names = {word.casefold() for name in names_in(text) for word in name.split()}
    candidates = {
        match[0].lower()
        for match in _WORD.finditer(speech)
        if len(match[0]) >= MIN_LETTERS and len(match[0]) in LENGTHS and _DETERMINER.search(speech, 0, match.start())
    }
    nouns = {word for word in candidates - names if word not in STOP_WORDS and not _NOT_A_NOUN.search(word)}
    return sorted(nouns, key=lambda word: (-len(word), word))[:MAX_WORDS]
