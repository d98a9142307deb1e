"""Answer the task ``consolidate``: merge an entry into a longer one that begins with the same words."""

import re
from collections.abc import Mapping
from typing import Any

from apps.english.clauses import split_speaker
from apps.english.lexicon import stem
from apps.english.words import STOP_WORDS
from apps.extraction.memories.consolidation import MergeLine, format_merge
from apps.llm.generation import GenerationRequest

MIN_WORDS = 3
_WORD = re.compile(r"[\w'’-]+")
_NEGATION = re.compile(r"\b(?:not|never|no longer|without|nobody|nothing|no|cannot)\b|n['’]t\b", re.IGNORECASE)


def consolidate(request: GenerationRequest) -> str:
    """Return a line for each group of entries that begin with the same words, with the text of the longest one."""
    groups: list[list[Mapping[str, Any]]] = []
    for entry in sorted(request.material["entries"], key=lambda entry: -len(_words(entry["text"]))):
        group = next((group for group in groups if begins_with(group[0]["text"], entry["text"])), None)
        if group is None:
            groups.append([entry])
        else:
            group.append(entry)
    lines = [
        MergeLine(tuple(sorted(entry["number"] for entry in group)), group[0]["text"]) for group in groups if group[1:]
    ]
    return "\n".join(map(format_merge, sorted(lines, key=lambda line: line.numbers))) or "NONE"


def begins_with(longer: str, shorter: str) -> bool:
    """Return whether ``longer`` begins with the words of ``shorter`` and both or neither are negated."""
    words = _words(shorter)
    is_prefix = len(words) >= MIN_WORDS and _words(longer)[: len(words)] == words
    return is_prefix and bool(_NEGATION.search(shorter)) == bool(_NEGATION.search(longer))


def _words(text: str) -> list[str]:
    speaker, spoken = split_speaker(text)
    return [stem(word) for word in _WORD.findall(f"{speaker} {spoken}".lower()) if word not in STOP_WORDS]
