"""Noun phrases and what follows a verb, quoted from a sentence. Pure."""

import re

MAX_WORDS, MAX_CLAUSE_WORDS = 6, 16
_WORD = re.compile(r"\s*([\w'’-]+)")
_STOPS = frozenset(
    """and but or as while when where which who whom that to for with because before after until till since from by in
    on at into onto under over beside near behind through against around about is are was were has have had so then
    again now still tonight today yesterday tomorrow too like without him me us them you i he she they we it there
    here back away up down off out""".split()
)
_DETERMINERS = frozenset("the a an her his my their your our this that some its these those another".split())
_CLAUSE_END = re.compile(
    r"[.,;:!?…—–()“”\"]|\s(?:and|but|because|although|while|whereas|so that|then)\s", re.IGNORECASE
)


def noun_phrase(text: str, start: int) -> str:
    """The words from ``start`` on that name one thing: ``the old mill of Port Salt``; empty where none do."""
    words: list[str] = []
    position = start
    while len(words) < MAX_WORDS and (match := _WORD.match(text, position)):
        word = match[1]
        begins = not words or words[-1] == "of"
        if word.casefold() in (_STOPS - _DETERMINERS if begins else _STOPS | _DETERMINERS):
            break
        words.append(word)
        position = match.end()
        if word.endswith(("'", "’")) or text[position : position + 1] not in ("", " "):
            break
    while words and words[-1].casefold() in (_DETERMINERS | {"of"}):
        words.pop()
    return " ".join(words)


def bare(phrase: str) -> str:
    """A phrase without its article or possessive pronoun."""
    first, _, rest = phrase.partition(" ")
    return rest if rest and first.casefold() in _DETERMINERS else phrase


def clause_from(text: str, start: int) -> str:
    """The rest of the clause that begins at ``start``; empty where it is too long to quote."""
    end = _CLAUSE_END.search(text, start)
    clause = text[start : end.start() if end else len(text)].strip(" '’*")
    return clause if 0 < len(clause.split()) <= MAX_CLAUSE_WORDS else ""


def is_name(phrase: str) -> bool:
    """Whether the phrase, its article aside, begins with a capital letter."""
    return bare(phrase)[:1].isupper()


def as_sentence(text: str) -> str:
    """A text as it stands in a paragraph: one line, with a full stop."""
    text = " ".join(text.split())
    return text if not text or text.endswith((".", "!", "?", "…", "”", "。", "！", "？")) else f"{text}."
