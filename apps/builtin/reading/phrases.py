"""Extract noun phrases and clauses from a sentence. Without database access."""

import re

from apps.english.words import STOP_WORDS

MAX_WORDS, MAX_CLAUSE_WORDS = 6, 16
_WORD = re.compile(r"\s*([\w'’-]+)")
_DETERMINERS = frozenset("the a an her his my their your our this that some its these those another".split())
_STOPS = (
    STOP_WORDS
    | _DETERMINERS
    | frozenset("while because during till beside near behind through around like without".split())
) - {"of"}
_CLAUSE_END = re.compile(
    r"[.,;:!?…—–()“”\"]|\s(?:and|but|because|although|while|whereas|so that|then)\s", re.IGNORECASE
)


def noun_phrase(text: str, start: int) -> str:
    """Return the noun phrase at ``start``, such as ``the old mill of Port Salt``; empty if there is none."""
    words: list[str] = []
    position = start
    while len(words) < MAX_WORDS and (match := _WORD.match(text, position)):
        word = match[1]
        begins = not words or words[-1] == "of"
        if word.casefold() in _STOPS and not (begins and word.casefold() in _DETERMINERS):
            break
        words.append(word)
        position = match.end()
        if word.endswith(("'", "’")) or text[position : position + 1] not in ("", " "):
            break
    while words and words[-1].casefold() in (_DETERMINERS | {"of"}):
        words.pop()
    return " ".join(words)


def without_determiner(phrase: str) -> str:
    """Return a phrase without its article or possessive pronoun."""
    first, _, rest = phrase.partition(" ")
    return rest if rest and first.casefold() in _DETERMINERS else phrase


def clause_from(text: str, start: int) -> str:
    """Return the rest of the clause from ``start`` on; empty if it is longer than MAX_CLAUSE_WORDS."""
    end = _CLAUSE_END.search(text, start)
    clause = text[start : end.start() if end else len(text)].strip(" '’*")
    return clause if 0 < len(clause.split()) <= MAX_CLAUSE_WORDS else ""


def as_sentence(text: str) -> str:
    """Return a text in one line that ends with punctuation; a full stop is added if it has none."""
    text = " ".join(text.split())
    return text if not text or text.endswith((".", "!", "?", "…", "”", "。", "！", "？")) else f"{text}."
