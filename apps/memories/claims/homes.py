"""What statements claim of where people live. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import Claim, after, before, claim, negated, owners, phrases
from apps.memories.lexicon import verbs
from apps.memories.wording import Clause

_HOUSING = (
    "(?:house|home|flat|apartment|condo|studio|loft|attic|room|place|cottage|cabin|hut|shack|bungalow|villa|manor|mansion|"
    "penthouse|castle|tower|farm|houseboat|boat|tent|caravan|trailer)"
)
_A = "(?:a|an|the)"
_LIVES = phrases(
    verbs("live, reside, dwell, lodge, sleep") + r" (?:\S+ ){0,4}?(?:in|at|on|above|outside|near|with|among)",
    verbs("live") + "(?= (?:next|alone|here|there|abroad|nearby|across|opposite|downstairs|upstairs|off)\\b)",
    verbs("have, make") + r" \S+ home (?:in|at|on|among|near)|home is(?: now)?(?: in| at)?",
    "(?:is|am|are) (?:based|staying|living|settled|housed|quartered|stationed) (?:in|at|on|above|outside|with)",
    rf"(?:is|am|are) (?:still )?(?:in|at)(?= (?:\S+ ){{0,3}}{_HOUSING}\b)",
    verbs("rent, share, occupy") + rf"(?: {_A})?(?= (?:\S+ ){{0,2}}?{_HOUSING}\b)",
    rf"(?:has|have) (?:{_A}|\S+'s own)(?= (?:\S+ ){{0,2}}?{_HOUSING}\b)|{_HOUSING} is (?:in|on|at)",
)
_DIRECTION = "(?: back| out| over| house| home| north| south| away| abroad)?"
_MOVES = phrases(
    verbs("move, relocate, emigrate") + rf"{_DIRECTION} (?:to|into|in to|in with|in at|in|from \S+ to)",
    verbs("settle") + " (?:down )?(?:in|at|on|among|near|by)",
    verbs("retire") + " to",
    "(?:transferred|reassigned|redeployed|posted|sent to live) (?:to|in|at|with)",
    verbs("move") + "(?= (?:out|aboard|away|abroad)\\b)",
    verbs("make") + r" (?:\S+ )?home in|new home is(?: in)?",
    verbs("buy, get, find, build, take, inherit, lease, rent")
    + rf"(?= (?:\S+ ){{0,4}}{_HOUSING}\b)(?: (?:a|an|the|\S+'s))?",
    verbs("take up residence, set up home, put down roots, find lodging, find lodgings") + " (?:in|at|with)",
)
_NOT_NOW = phrases("used to|once|grew up|stay(?:s|ing)? for")


def read_home(clause: Clause) -> Iterator[Claim]:
    moves = _MOVES.search(clause.text)
    match = moves or _LIVES.search(clause.text)
    if match is None or _is_past(clause, match) or _NOT_NOW.search(clause.text) or negated(clause):
        return
    subject = before(clause, match)
    who = frozenset(word.removesuffix("'s") for word in subject) if subject == owners(subject) else subject
    # "Tom moved the key to the drawer" is no change of home.
    if who and match.end() < len(clause.text):
        yield claim(clause, "home", who, after(clause, match), moves=moves is not None)


_ALONE = phrases(verbs("live") + r" (?:all )?(?:alone|by \S+self|on \S+ own)")
_SHARES = phrases(verbs("live, lodge") + " with")


def read_company(clause: Clause) -> Iterator[Claim]:
    """Whether somebody lives with others."""
    match = _ALONE.search(clause.text) or _SHARES.search(clause.text)
    if match and not _NOT_NOW.search(clause.text) and not negated(clause) and not _is_past(clause, match):
        value = frozenset(["with" if match.re is _SHARES else "alone"])
        yield claim(clause, "company", before(clause, match), value)


def _is_past(clause: Clause, match: re.Match[str]) -> bool:
    """Whether it is told of the past only: "lived", without "has" before it."""
    lived = match[0].startswith(("lived", "resided", "slept"))
    return lived and not re.search(r"\b(?:has|have)\b", clause.text[: match.start()])
