"""What statements claim of how old people are, what they wear, how they look. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import Claim, after, before, claim, content, negated, owners, people, phrases
from apps.memories.lexicon import verbs
from apps.memories.wording import Clause

_AGE = re.compile(
    r"\b(?:is|am|are|aged|turned|turns|turning) (?P<age>\d{1,3})"
    r"(?= years? old|$| now| already| (?:yesterday|today|last|this|in|on))|\b(?P<birthday>\d{1,3}) birthday\b"
)
_OF_ANOTHER = re.compile(r"\bfor \S+'s \d+ birthday\b")
_CELEBRATES = phrases("celebrated?|celebrates|had|has|marked")


def read_age(clause: Clause) -> Iterator[Claim]:
    match = _AGE.search(clause.text)
    if match and not _OF_ANOTHER.search(clause.text):
        subject = content(_CELEBRATES.split(clause.text[: match.start()])[0])
        yield claim(clause, "age", subject, frozenset([match["age"] or match["birthday"]]))


_WEARS = phrases(verbs("wear, sport"), "dressed in", r"in (?:a|an|the)(?= \w+ (?:dress|suit|gown|robe|cloak)\b)")
_CHANGES_CLOTHES = phrases(verbs("change into, slip into, switch to, dress in, put on"))


def read_clothes(clause: Clause) -> Iterator[Claim]:
    changes = _CHANGES_CLOTHES.search(clause.text)
    match = changes or _WEARS.search(clause.text)
    if match and not negated(clause):
        yield claim(clause, "clothes", before(clause, match), after(clause, match), moves=changes is not None)


_LOOKS = content("hair beard eyes moustache mustache")
_GROOMED = content("cut dyed has wears grew shaved off coloured crop trim bleach braid long short")
_CHANGED = phrases(verbs("cut, dye, shave, grow, crop, trim, bleach, colour, color, chop, lose"))


_BALD = phrases(r"shave[ds]? \S+ (?:head|skull)|bald|(?:lost|lost all) \S+ hair")


def read_looks(clause: Clause) -> Iterator[Claim]:
    words = content(clause.text)
    if _BALD.search(clause.text) and not negated(clause):
        yield claim(clause, "looks", people(clause), frozenset(["bald"]), thing=frozenset(["hair"]), moves=True)
        return
    if not words & _LOOKS:
        return
    changed, whose = _CHANGED.search(clause.text) is not None, people(clause)
    told = words - _LOOKS - owners(clause.words) - whose - (_GROOMED if changed else content("has wears is"))
    value = told | frozenset(["changed"]) if changed else told
    if value:
        yield claim(clause, "looks", whose, value, thing=words & _LOOKS, moves=changed)
