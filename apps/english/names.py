"""Recognise proper names and titles. Pure."""

from apps.english.words import STOP_WORDS

TITLES = frozenset(
    """mr mrs ms miss dr captain brother sister father mother madame lord lady sir king queen aunt uncle prince princess
    duke duchess baron count countess emperor empress lieutenant sergeant colonel general major commander admiral
    professor doctor president judge inspector detective saint master mistress grandma grandpa old young
    little""".split()
)
MAY = "may-month"  # the month, not the verb
CALENDAR = frozenset(
    f"""monday tuesday wednesday thursday friday saturday sunday january february march april {MAY} june july august
    september october november december""".split()
)
# Words that may begin a sentence and are not names there.
_OPENERS = STOP_WORDS | frozenset(
    """during despite inside outside behind beneath beside within among between across along around near above below
    throughout upon once though although peace nobody everybody everyone someone somebody anybody anyone one old
    young people turns hey hi hello thanks monday tuesday wednesday thursday friday saturday sunday""".split()
)


def is_name(token: str, *, first: bool) -> bool:
    """Return whether a word is a name, by its capital; ``first``: it begins a sentence, where any word has one."""
    word = token.lower().removesuffix("'s")
    return token[0].isupper() and len(word) > 1 and word not in (_OPENERS if first else STOP_WORDS)


def key_of(name: str) -> str:
    """Return the one word of a name, in lower case, by which a person is known."""
    words = [word for word in name.lower().split() if word.strip(".") not in TITLES] or name.lower().split()
    return words[0] if words else ""
