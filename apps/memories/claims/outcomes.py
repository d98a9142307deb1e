"""What a newer statement settles: what somebody wanted, planned or was about, and what nobody knew. Pure."""

import re

from apps.memories.claims.claim import Words, content, owners
from apps.memories.claims.predicate import Predicate, parts, predicates, unmatched
from apps.memories.lexicon import members, verbs
from apps.memories.wording import STOP_WORDS

_PROSPECT = re.compile(
    r"\b(?:"
    + verbs(
        "want to, plan to, hope to, intend to, wish to, need to, aim to, dream of, prepare for, prepare to, train for, save for, save up for, "
        "search for, look for, hunt, hunt for, seek, chase, pursue, track, wait for, await, expect, apply for, try to, consider, think about, "
        "think of, plan, plot to, promise to, vow to, swear to, compete for, run for, bid for, be about to, be due to, be supposed to, besiege"
    )
    + r"|(?:is|are|am) (?:building|writing|making|painting|working on|planning|saving|hunting|writing|composing|knitting|restoring|repairing|"
    r"renovating|studying for|preparing|negotiating|travell?ing|walking|riding|sailing|going|heading|trying|learning|digging|besieging)|"
    r"going to|will|(?:has|have) (?:a|an) (?:\w+ ){0,2}?(?:interview|exam|test|appointment|audition|trial|deadline|surgery|operation|flight|race|match|game))\b"
)
_UNKNOWN = re.compile(
    r"\b(?:nobody|no one|does not|do not|not|unknown|mystery|unsolved|unclear|wonders?|wondering|trying to find out)\b"
)
_KNOWING = re.compile(r"\b(?:knows?|known|who|where|what|why|whose|unknown|mystery|unsolved|unclear|wonders?)\b")
_VAGUE = content(
    "want plan hope intend wish need aim save search look wait try consider think promise know who something go day"
)


def settled(old: str, new: str) -> str | None:
    """The rule by which the newer statement settles what the older one leaves open."""
    if _fulfilled(old, new):
        return "fulfilled"
    return "revealed" if _revealed(old, new) else None


def _fulfilled(old: str, new: str) -> bool:
    """What was wanted, planned or under way, happened or failed."""
    for part in parts(old):
        match = _PROSPECT.search(part.text)
        if match is None or any(_PROSPECT.search(other.text) for other in parts(new)):
            continue
        subject = content(part.text[: match.start()])
        aim = content(part.text[match.start() :]) - _VAGUE
        if any(_reaches(event, subject, aim) for event in predicates(new)):
            return True
    return False


def _reaches(event: Predicate, subject: Words, aim: Words) -> bool:
    """An event with the same people, about the same thing."""
    if not event.told or not (event.subject & (subject | aim) or not event.names & event.subject):
        return False
    about = aim - owners(aim) - subject
    shared = about - unmatched(about, event.words - subject)
    things = shared - event.names
    return bool(things) and len(shared) * 2 >= len(about - members("verb"))


def _revealed(old: str, new: str) -> bool:
    """What was not known, is told."""
    for part in parts(old):
        if _UNKNOWN.search(part.text) and _KNOWING.search(part.text):
            open_words = (
                content(part.text)
                - _VAGUE
                - content("nobody unknown mystery unclear unsolved wonder identity origin whereabouts fate")
            )
            told = frozenset[str]().union(*(content(other.text) for other in parts(new)))
            closed = not any(_UNKNOWN.search(other.text) for other in parts(new))
            if closed and len(open_words) > 0 and not unmatched(open_words, told) and told - open_words - STOP_WORDS:
                return True
    return False
