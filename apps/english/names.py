"""Recognise proper names and titles. Without database access."""

import re

from apps.english.words import STOP_WORDS

TITLES = frozenset(
    """mr mrs ms miss dr captain brother sister father mother madame lord lady sir king queen aunt uncle prince princess
    duke duchess baron count countess emperor empress lieutenant sergeant colonel general major commander admiral
    professor doctor president judge inspector detective saint master mistress grandma grandpa old young
    little""".split()
)
MAX_NAME_WORDS = 3  # of a person
MAY = "may-month"  # the month, not the verb
CALENDAR = frozenset(
    f"""monday tuesday wednesday thursday friday saturday sunday january february march april {MAY} june july august
    september october november december""".split()
)
# Words that may begin a sentence and are not names there.
_SENTENCE_OPENERS = STOP_WORDS | frozenset(
    """during despite inside outside behind beneath beside within among between across along around near above below
    throughout upon once though although peace nobody everybody everyone someone somebody anybody anyone one old
    young people turns hey hi hello thanks monday tuesday wednesday thursday friday saturday sunday""".split()
)


def is_name(token: str, *, first: bool) -> bool:
    """Return whether a token is a name, judged by its capital letter; ``first``: it is the first word of a sentence."""
    word = token.lower().removesuffix("'s")
    return token[0].isupper() and len(word) > 1 and word not in (_SENTENCE_OPENERS if first else STOP_WORDS)


def name_words(name: str) -> tuple[str, ...]:
    """Return a name's words in lower case without titles, 'the' and 'of'; all words if nothing else is left."""
    words = re.findall(r"[\w'’-]+", name.casefold())
    return tuple(word for word in words if word not in TITLES and word not in ("the", "of")) or tuple(words)


def is_same_person(name: str, other: str) -> bool:
    """Return whether two names may be of one person: "Mira" and "Captain Mira Hale"."""
    words, others = set(name_words(name)), set(name_words(other))
    return bool(words and others) and (words <= others or others <= words)


def name_key(name: str) -> str:
    """Return the first word of a name after titles, in lower case; it identifies a person."""
    words = [word for word in name.lower().split() if word.strip(".") not in TITLES] or name.lower().split()
    return words[0] if words else ""


def is_personal_name(name: str) -> bool:
    """Return whether a name can be a person's first name or full name: up to three capitalised words, and no title."""
    words = name.split()
    return (
        0 < len(words) <= MAX_NAME_WORDS
        and all(word[0].isupper() and word.replace("-", "").isalpha() for word in words)
        and words[0].lower() not in (*TITLES, *CALENDAR, "the")
    )
