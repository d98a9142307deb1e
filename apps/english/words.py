"""Find the content words of a text, and compare those of two texts. Without database access."""

import re
from collections.abc import Iterable

from apps.english.kept import keep_results
from apps.english.lexicon import are_synonyms, stem

Words = frozenset[str]
NO_WORDS: Words = frozenset()
STOP_WORDS = frozenset(
    """a an the and or but so then of in on at to from by for with as is are was were be been being am has have had do
    does did it its this that these those there here he she they we i you his her their our my your him them me us not
    no never now again still just only very too also who whom which what when where while will would shall should can
    could may might must s t re ve ll d m after before since until into out up down over under about than more most
    some any all both each every own same said says told finally already really well yes oh ago last next week month
    year day today yesterday tomorrow recently soon later longer anymore""".split()
)
_FILLERS = STOP_WORDS | frozenset(
    """old new little small big long good very much quite rather own real true called named alone together time thing
    things people way lot kind""".split()
)
WORD = re.compile(r"\w+(?:['’-]\w+|[:.](?=\d)\w+)*")


@keep_results
def content_words(text: str) -> Words:
    """Return the stems of a text's words, in lower case, without punctuation and stop words."""
    words = (match[0].lower().replace("’", "'") for match in WORD.finditer(text))
    return frozenset(stem(word) for word in words if word not in STOP_WORDS)


def jaccard(text: str, other_text: str) -> float:
    """Return the Jaccard index of the content words of two texts: shared words divided by all words."""
    words, other_words = content_words(text), content_words(other_text)
    return len(words & other_words) / len(words | other_words) if words | other_words else 1.0


def content_stems(words: Iterable[str]) -> Words:
    """Return the stems of lower-case words, without stop words and fillers; possessives keep their "'s"."""
    return frozenset(
        word if word.endswith("'s") else stem(word) for word in words if word not in _FILLERS and word != "'s"
    )


def possessives(words: Iterable[str]) -> Words:
    """Return the possessives among the words."""
    return frozenset(word for word in words if word.endswith("'s"))


def unmatched(words: Words, others: Words) -> Words:
    """Return the words that have no synonym among the others."""
    return frozenset(word for word in words if not any(are_synonyms(word, other) for other in others))
