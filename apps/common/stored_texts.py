"""Texts that were stored in English, by workers for example, in the language of who reads them.

Such a text is an entry of the catalogue, or what became of one when its values were put in: then the entry is found
by the text around them.
"""

import re
from functools import cache
from typing import Any

from django.utils.translation import get_language, gettext
from django.utils.translation.trans_real import translation

PLACEHOLDER = re.compile(r"%\((\w+)\)s")
# Values that are texts of ours themselves; others are names, numbers and quotations.
NESTED = ("detail", "error", "reason")
SENTENCE_END = re.compile(r"(?<=\.) ")
MIN_LITERAL = 8  # characters of an entry besides its values: a shorter one would be found in many texts
MAX_LENGTH = 5000  # characters of a text of ours; the time to find an entry grows with the square


def translated(text: str) -> str:
    """Return a stored text in the current language, or as it is if the catalogue has no entry for it."""
    language = get_language()
    if not text or not language or len(text) > MAX_LENGTH:
        return text
    if (found := gettext(text)) != text:
        return found
    for form, entry in _forms(language):
        if values := form.fullmatch(text):
            named = values.groupdict()
            return gettext(entry) % (named | {name: translated(named[name]) for name in NESTED if name in named})
    sentences = SENTENCE_END.split(text)
    return " ".join(map(translated, sentences)) if len(sentences) > 1 else text


@cache
def _forms(language: str) -> list[tuple[re.Pattern[str], str]]:
    """Return the entries with values as expressions, those with the longest text besides the values first."""
    catalogue: Any = translation(language)
    keys = catalogue._catalog.keys()
    entries = [key for key in keys if isinstance(key, str) and "\x04" not in key and PLACEHOLDER.search(key)]
    entries = [entry for entry in entries if "%(" not in PLACEHOLDER.sub("", entry)]  # values are texts here
    literal = {entry: len(PLACEHOLDER.sub("", entry)) for entry in entries}
    longest_first = sorted(entries, key=lambda entry: (-literal[entry], entry))
    return [(_expression(entry), entry) for entry in longest_first if literal[entry] >= MIN_LITERAL]


def _expression(entry: str) -> re.Pattern[str]:
    parts, seen = [], set()
    for number, part in enumerate(PLACEHOLDER.split(entry)):
        if number % 2 == 0:
            parts.append(re.escape(part.replace("%%", "%")))
        else:
            parts.append(f"(?P={part})" if part in seen else f"(?P<{part}>.+?)")
            seen.add(part)
    return re.compile("".join(parts), re.DOTALL)
