"""Whether two entries say the same, and the task ``supersession``. Pure."""

import re

from apps.llm.generation import GenerationRequest
from apps.memories.state_change import change_between
from apps.memories.wording import content_words, split_speaker

MISSING = 1  # words of meaning that one may have more than the other and be left out all the same
LEAST_WORDS = 3
_NOT = re.compile(r"\b(?:not|never|no longer|without|nobody|nothing|no|cannot)\b|n['’]t\b", re.IGNORECASE)


def supersession(request: GenerationRequest) -> str:
    """Whether the newer statement replaces the older one."""
    return "UPDATE" if change_between(request.material["old"], request.material["new"]) else "INDEPENDENT"


def is_held_by(entry: str, richer: str) -> bool:
    """Whether ``richer`` says all that ``entry`` does: no name, number or negation less, one common word at most."""
    words, more = content_words(entry), content_words(richer)
    missing = words - more
    if len(words) < LEAST_WORDS or len(missing) > MISSING or bool(_NOT.search(entry)) != bool(_NOT.search(richer)):
        return False
    if missing and (split_speaker(entry)[0] != split_speaker(richer)[0] or _matters(missing, entry)):
        return False
    return not change_between(entry, richer) and not change_between(richer, entry)


def _matters(missing: frozenset[str], entry: str) -> bool:
    """Whether what is missing is a number or a name."""
    return any(re.search(r"\d", word) for word in missing) or bool(missing & _capitalised(entry))


def _capitalised(text: str) -> frozenset[str]:
    return content_words(" ".join(word for word in text.split() if word.strip("“\"'‘(")[:1].isupper()))
