"""Task ``consolidate``: merge entries into the one that begins with all that they say."""

import re
from collections.abc import Mapping
from typing import Any

from apps.english.clauses import split_speaker
from apps.english.lexicon import stem
from apps.english.words import STOP_WORDS
from apps.extraction.parsers.merges import MergeLine, print_merge
from apps.llm.generation import GenerationRequest

LEAST_WORDS = 3
_WORD = re.compile(r"[\w'’-]+")
_NOT = re.compile(r"\b(?:not|never|no longer|without|nobody|nothing|no|cannot)\b|n['’]t\b", re.IGNORECASE)


def consolidate(request: GenerationRequest) -> str:
    """Print a line for each group of entries of which the longest says all that the others do, and keep its text."""
    groups: list[list[Mapping[str, Any]]] = []
    for entry in sorted(request.material["entries"], key=lambda one: -len(_words(one["text"]))):
        group = next((group for group in groups if says_all_of(group[0]["text"], entry["text"])), None)
        if group is None:
            groups.append([entry])
        else:
            group.append(entry)
    lines = [
        MergeLine(tuple(sorted(entry["number"] for entry in group)), group[0]["text"]) for group in groups if group[1:]
    ]
    return "\n".join(map(print_merge, sorted(lines, key=lambda line: line.numbers))) or "NONE"


def says_all_of(longer: str, entry: str) -> bool:
    """Return whether ``longer`` begins with the words of ``entry`` in their order and negates as little."""
    words = _words(entry)
    begins = len(words) >= LEAST_WORDS and _words(longer)[: len(words)] == words
    return begins and bool(_NOT.search(entry)) == bool(_NOT.search(longer))


def _words(text: str) -> list[str]:
    speaker, said = split_speaker(text)
    return [stem(word) for word in _WORD.findall(f"{speaker} {said}".lower()) if word not in STOP_WORDS]
