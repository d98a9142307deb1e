"""What statements claim of whom people are with. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import Claim, Words, before, claim, content, owners, people, phrases
from apps.memories.lexicon import members, verbs
from apps.memories.wording import Clause

_SPOUSE = r"(?:husband|wife|spouse)"
_SWEETHEART = r"(?:boyfriend|girlfriend|partner)"
_STATUSES = {
    "apart": phrases(
        r"divorced?|separated|broken up|annulled|(?:are|is) over",
        verbs("break up, split up, file for divorce, part ways, go their separate ways, call it quits"),
        rf"ex-(?:{_SPOUSE}|{_SWEETHEART})",
        verbs("leave, dump, jilt, divorce") + rf" (?:\S+'s )?(?:{_SPOUSE}|{_SWEETHEART}|fianc\S+)$",
        verbs("end, break off") + r" (?:things with|(?:the|\S+'s) (?:relationship|engagement|marriage|affair))",
        verbs("leave") + r" \S+ for",
    ),
    "married": phrases(
        verbs("marry, remarry, wed, elope, tie the knot, get hitched, exchange vows, exchange rings, say vows"),
        r"newlyweds?|honeymoon|exchanged \w+ (?:vows|rings)|walked down the aisle",
        rf"became (?:husband and wife|\S+'s {_SPOUSE})|{_SPOUSE}(?: is| of|$)|(?:is|am|are) \S+'s {_SPOUSE}",
        rf"(?:has|have) a {_SPOUSE}",
    ),
    "longing": phrases("crush on|pining for|unrequited"),
    "engaged": phrases(
        "engaged(?! in)|fianc[eé]e?|betrothed|proposed (?:to|and)|said yes|popped the question",
        r"accepted \S+ proposal",
    ),
    "single": phrases(
        rf"single|unmarried|bachelor|unattached|no (?:{_SPOUSE}|{_SWEETHEART})",
        r"not (?:seeing|dating) (?:anyone|anybody)|on \S+ own again|swore off (?:dating|love|men|women)",
    ),
    "widowed": phrases("widow(?:ed|er)?", verbs("bury, lose") + rf" \S+'s (?:{_SPOUSE}|fianc\S+)"),
    "dating": phrases(
        verbs("date, court"),
        "(?:is|am|are|been|started) seeing|going out with",
        rf"{_SWEETHEART}(?: is|$)|(?:has|have) a (?:new )?{_SWEETHEART}",
        rf"(?:is|am|are) (?:\S+'s {_SWEETHEART}|together|a couple|an item)|in a relationship|sweethearts?",
    ),
}
_SOON = phrases("going to|will|about to|plans? to|agreed to|promised to")
_LEAVES = verbs("leave, dump, jilt, divorce")
_UNION = ("married", "dating", "engaged")


def read_partner(clause: Clause) -> Iterator[Claim]:
    for status, pattern in _STATUSES.items():
        match = pattern.search(clause.text) or (_left_by_name(clause) if status == "apart" else None)
        if match:
            is_not = status != "single" and bool(re.search(r"\b(?:not|never|no)\b", clause.text[: match.start()]))
            if status == "married" and _SOON.search(clause.text[: match.start()]):
                status = "engaged"
            value = ("single" if status in _UNION else "married") if is_not else status
            yield claim(clause, "partner", _partners(clause, match), frozenset([value]), moves=status == "apart")
            return


def _left_by_name(clause: Clause) -> re.Match[str] | None:
    """Max dumped Leo."""
    found = re.search(rf"\b{_LEAVES} (?P<name>\S+)(?= (?:after|in|for|last|because|when)\b|$)", clause.text)
    return found if found and found["name"] in clause.names else None


def _partners(clause: Clause, match: re.Match[str]) -> Words:
    """Whose bond it is; kin and owners stay, so that a brother's is not one's own."""
    behind = content(clause.text[match.end() :]) & people(clause)
    found = before(clause, match) & (people(clause) | owners(clause.words) | members("person"))
    return found | people(clause) if clause.words[-1] in clause.names else found or behind
