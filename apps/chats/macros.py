"""Macros such as ``{{char}}`` or ``{{smartmemory-longterm}}``: find and replace them. Without database access.

Those of card version 3 that choose, change or hide a text, such as ``{{random:rain,snow}}``, have an argument.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

_MACRO = re.compile(r"\{\{\s*([A-Za-z][\w-]*)\s*\}\}", re.ASCII)
LEGACY_NAMES = {"<user>": "{{user}}", "<bot>": "{{char}}", "<char>": "{{char}}"}  # cards of 2022
LEGACY = re.compile("|".join(LEGACY_NAMES), re.IGNORECASE)


def resolve_macros(text: str, macros: Mapping[str, str]) -> str:
    """Replace the macros in ``text`` by their values, and leave unknown ones as they are.

    Macros are named in any case, and ``macros`` in lower case. Values are inserted as they are: macros in them are not
    replaced.
    """
    return _MACRO.sub(lambda match: macros.get(match[1].lower(), match[0]), text)


def resolve_in_order(texts: Iterable[str], macros: Mapping[str, str]) -> list[str]:
    """Replace each macro by its value where it stands first in ``texts``, and by nothing where it stands again."""
    left = dict(macros)
    known = set(macros)

    def value(match: re.Match[str]) -> str:
        name = match[1].lower()
        return left.pop(name, "") if name in known else match[0]

    return [_MACRO.sub(value, text) for text in texts]


def resolve_card_text(text: str, values: Mapping[str, str]) -> str:
    """Replace the macros in a text of a card, also those of old cards, in one pass."""
    if "{{" not in text and "<" not in text:
        return text  # a lorebook may have thousands of entries
    text = LEGACY.sub(lambda match: LEGACY_NAMES[match[0].lower()], text)
    return resolve_macros(text, values)


def macros_in(texts: Iterable[str]) -> set[str]:
    """Return the names of all macros in ``texts``, in lower case."""
    return {name.lower() for text in texts for name in _MACRO.findall(text)}


# An argument may have macros without an argument in it, and single braces.
_WITH_ARGUMENT = re.compile(
    r"\{\{\s*(?:(?P<note>//)|(?P<name>random|pick|roll|reverse|comment|hidden_key)\s*::?|(?P<roll>roll)\s)"
    r"(?P<argument>(?:[^{}]|\{\{\s*[A-Za-z][\w-]*\s*\}\}|[{}](?![{}]))*)\}\}",
    re.ASCII | re.IGNORECASE,
)
MAX_NESTED = 5  # macros with an argument within one another
_UNESCAPED_COMMA = re.compile(r"(?<!\\),")
_DICE = re.compile(r"(?:(\d{0,2})d)?(\d{1,9})", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Draws:
    """Seeds of what macros choose: ``{{pick}}`` is the same in all of a chat, the others in one state of it.

    A prompt that is shown beforehand is therefore the one that is sent.
    """

    chat: str = ""
    state: str = ""


def resolve_choices(text: str, draws: Draws) -> str:
    """Replace ``{{random:…}}``, ``{{pick:…}}``, ``{{roll:…}}`` and ``{{reverse:…}}``; remove notes and hidden keys.

    Those that stand within others are replaced first.
    """
    if "{{" not in text:
        return text
    seen: Counter[str] = Counter()

    def value(match: re.Match[str]) -> str:
        name, argument = (match["note"] or match["name"] or match["roll"]).lower(), match["argument"].strip()
        # The same macro may stand in a text several times, and chooses each time.
        seen[match[0]] += 1
        seed = draws.chat if name == "pick" else draws.state
        random = Random(f"{seed}:{name}:{argument}:{seen[match[0]]}")  # noqa: S311 - no secret
        if name in ("random", "pick"):
            return random.choice(_options(argument))
        if name == "roll":
            return _rolled(argument, random)
        return argument[::-1] if name == "reverse" else ""

    for _ in range(MAX_NESTED):
        text, count = _WITH_ARGUMENT.subn(value, text)
        if not count:
            break
    return text


def hidden_keys_in(text: str) -> list[str]:
    """Return the arguments of ``{{hidden_key:…}}``, which only the search for further lorebook entries sees."""
    found = _WITH_ARGUMENT.finditer(text)
    return [match["argument"].strip() for match in found if (match["name"] or "").lower() == "hidden_key"]


def _options(argument: str) -> list[str]:
    """Return the texts to choose from: separated by commas, which may be escaped, or as in SillyTavern by ``::``."""
    if "::" in argument:
        return [option.strip() for option in argument.split("::")]
    return [option.replace(r"\,", ",").strip() for option in _UNESCAPED_COMMA.split(argument)]


def _rolled(argument: str, random: Random) -> str:
    """Return the sum of dice such as ``6``, ``d6`` or ``2d6``; an empty text for anything else."""
    match = _DICE.fullmatch(argument)
    if match is None or int(match[2]) < 1:
        return ""
    return str(sum(random.randint(1, int(match[2])) for _ in range(int(match[1] or 1))))
