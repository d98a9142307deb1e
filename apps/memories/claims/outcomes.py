"""What a newer statement settles: what somebody wanted, planned or was about, and what nobody knew. Pure."""

import re

from apps.memories.claims.claim import LIVING, Words, content, owners, phrases
from apps.memories.claims.predicate import Predicate, parts, predicates, unmatched
from apps.memories.lexicon import members, verbs

_PROSPECT = phrases(
    verbs(
        """want to, plan to, hope to, intend to, wish to, need to, aim to, try to, plot to, promise to, vow to, swear
        to, prepare to, be about to, be due to, be supposed to, plan, consider, expect, await, wait for, dream of,
        think of, think about, prepare for, train for, save for, save up for, apply for, compete for, run for, bid
        for, search for, look for, hunt, hunt for, seek, chase, pursue, track, besiege"""
    ),
    "(?:is|are|am) (?:building|making|writing|composing|painting|knitting|restoring|repairing|renovating|digging)",
    "(?:is|are|am) (?:planning|saving|preparing|negotiating|working on|studying for|trying|learning|besieging|hunting)",
    "(?:is|are|am) (?:travell?ing|walking|riding|sailing|going|heading)|going to|will",
    r"(?:has|have) (?:a|an) (?:\w+ ){0,2}?(?:interview|exam|test|appointment|audition|trial|deadline|surgery)",
    r"(?:has|have) (?:a|an) (?:\w+ ){0,2}?(?:operation|flight|race|match|game)",
)
_UNKNOWN = phrases("nobody|no one|not|unknown|mystery|unsolved|unclear|wonders?|wondering|trying to find out")
_KNOWING = phrases("knows?|known|who|where|what|why|whose|unknown|mystery|unsolved|unclear|wonders?")
_VAGUE = content(
    """want plan hope intend wish need aim save search look wait try consider think promise know who something go day
    nobody unknown mystery unclear unsolved wonder identity origin whereabouts fate"""
)


SUBJECT_WORDS = 3  # in whatever plans, at most


def settled(old: str, new: str) -> str | None:
    """The rule by which the newer statement settles what the older one leaves open."""
    if _fulfilled(old, new):
        return "fulfilled"
    return "revealed" if _revealed(old, new) else None


def _fulfilled(old: str, new: str) -> bool:
    """What was wanted, planned or under way, happened or failed."""
    for part in parts(old):
        match = _PROSPECT.search(part.text)
        if match is None or _is_aside(part.text, match) or any(_PROSPECT.search(other.text) for other in parts(new)):
            continue
        subject = content(part.text[: match.start()])
        aim = content(part.text[match.start() :]) - _VAGUE
        if any(_reaches(event, subject, aim) for event in predicates(new)):
            return True
    return False


def _is_aside(said: str, match: re.Match[str]) -> bool:
    """Not the verb of the clause: too much stands before it, or no form of "be" before a participle."""
    if len(content(said[: match.start()])) > SUBJECT_WORDS:
        return True
    return match[0].split()[0].endswith("ing") and not re.search(
        r"\b(?:is|are|am|been) (?:\w+ )?$", said[: match.start()]
    )


def _reaches(event: Predicate, subject: Words, aim: Words) -> bool:
    """An event with the same people, about the same thing."""
    if not event.told or not (event.subject & (subject | aim) or not event.names & event.subject):
        return False
    about = aim - owners(aim) - subject
    shared = about - unmatched(about, event.words - subject)
    things = shared - event.names - LIVING
    return bool(things) and len(shared) * 3 >= len(about - members("verb")) * 2


def _revealed(old: str, new: str) -> bool:
    """What was not known, is told."""
    if any(_UNKNOWN.search(part.text) for part in parts(new)):
        return False
    told = frozenset[str]().union(*(content(part.text) for part in parts(new)))
    unknown = (part for part in parts(old) if _UNKNOWN.search(part.text) and _KNOWING.search(part.text))
    asked = (content(part.text) - _VAGUE for part in unknown)
    return any(words and not unmatched(words, told) and told - words for words in asked)
