"""Why an entry was recalled, for example "names Mira · said 214 messages ago · similar .71".

A recall stores its reasons as one English text, which the API and exported chats have too. Pages show it in the
reader's language: each part is recognised by the template that it was made with, so one table serves both directions.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from django.utils.translation import get_language, gettext, gettext_noop, ngettext

MIN_SIMILAR_COSINE = 0.2  # lower cosines of all-MiniLM-L6-v2 are noise
MAX_NAMES = 3
SEPARATOR = " · "

PINNED = gettext_noop("pinned")
NAMES = gettext_noop("names %(names)s")
TRIGGERED_BY = gettext_noop("triggered by %(names)s")
SAID_IN = gettext_noop("said in “%(title)s”")
SIMILAR = gettext_noop("similar %(likeness)s")
SHARES_WORDS = gettext_noop("shares its words")
ALWAYS = gettext_noop("always included")
REPAIRS = gettext_noop("repairs a contradiction")
TEMPLATES = (PINNED, NAMES, TRIGGERED_BY, SAID_IN, SIMILAR, SHARES_WORDS, ALWAYS, REPAIRS)
MESSAGES_AGO = re.compile(r"said ([\d,]+) messages? ago")


def names_in(text: str, names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that occur in ``text`` as whole words, ignoring case."""
    folded = text.casefold()
    return [name for name in names if name and re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", folded)]


def reasons(
    *,
    names: Sequence[str],
    origin: str,
    signals: Mapping[str, float],
    pinned: bool = False,
    triggers: Sequence[str] = (),
) -> str:
    """Return the reasons as one text, the most obvious first.

    ``names`` are the names that the entry shares with the turn. ``origin`` is a time or chat, such as "214 messages
    ago", or empty. ``signals`` are the search's signals by name, or empty. ``triggers`` are the memory's trigger words
    in the turn; those that are in a name are left out.
    """
    parts = [PINNED] if pinned else []
    if names:
        parts.append(NAMES % {"names": _join_names(names[:MAX_NAMES])})
    if others := [word for word in triggers if not names_in(" ".join(names), [word])]:
        parts.append(TRIGGERED_BY % {"names": _join_names(others[:MAX_NAMES])})
    if origin:
        parts.append(f"said {origin}")
    if signals.get("vector", 0) >= MIN_SIMILAR_COSINE:
        parts.append(SIMILAR % {"likeness": f"{min(signals['vector'], 1.0):.2f}".removeprefix("0")})  # ".71"
    elif signals.get("lexical", 0) > 0:
        parts.append(SHARES_WORDS)
    if signals.get("time", 0) > 0:
        parts.append("of the time asked for")
    return SEPARATOR.join(parts) or ALWAYS


def _join_names(names: Sequence[str]) -> str:
    """Return names as "A, B and C"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def shown_reasons(why: str) -> str:
    """Return stored reasons, each in the language of the page."""
    return why if get_language() == "en" else SEPARATOR.join(map(_shown, why.split(SEPARATOR)))


def _shown(reason: str) -> str:
    if match := MESSAGES_AGO.fullmatch(reason):
        count = int(match[1].replace(",", ""))
        return ngettext("said %(count)s message ago", "said %(count)s messages ago", count) % {"count": count}
    for template, pattern in PATTERNS.items():
        if match := pattern.fullmatch(reason):
            return gettext(template) % {name: _joined(value) for name, value in match.groupdict().items()}
    return reason


def _joined(names: str) -> str:
    first, word, last = names.rpartition(" and ")
    return f"{first}{gettext(' and ')}{last}" if word else names


def _pattern_of(template: str) -> re.Pattern[str]:
    """Return a pattern that matches what a template was filled with."""
    parts = re.split(r"%\((\w+)\)s", template)  # texts, and between them names of values
    of_values = {"likeness": r"[\d.]+"}
    for place in range(1, len(parts), 2):
        parts[place] = f"(?P<{parts[place]}>{of_values.get(parts[place], '.+')})"
    parts[::2] = map(re.escape, parts[::2])
    return re.compile("".join(parts))


PATTERNS = {template: _pattern_of(template) for template in TEMPLATES}
