"""Answers of one word. Pure."""

import re
from re import Pattern

from apps.extraction.parsers.plain import plain

_NEGATION = r"(?P<negated>(?:\bnot|n['’]t|\bneither)\s+(?:an?\s+|the\s+)?)?"
_YES_NO = re.compile(_NEGATION + r"\b(?:(?P<yes>yes)|(?P<no>no))\b", re.IGNORECASE)
_UPDATE = re.compile(_NEGATION + r"\b(?:(?P<yes>updates?|updated)|(?P<no>independent))\b", re.IGNORECASE)


def parse_yes_no(reply: str) -> bool | None:
    """YES is True and NO is False; None where the reply says neither, or both.

    In prose "no" is mostly part of a sentence. The answer is the word that the reply begins or ends with, else one in
    capitals.
    """
    return _answer(reply, _YES_NO, anywhere=False)


def parse_update(reply: str) -> bool | None:
    """UPDATE is True and INDEPENDENT is False; None where the reply says neither, or both.

    The word that the reply begins or ends with counts before those within it.
    """
    return _answer(reply, _UPDATE, anywhere=True)


def _answer(reply: str, words: Pattern[str], *, anywhere: bool) -> bool | None:
    text = plain(reply).replace("_", " ")
    found = [match for match in words.finditer(text) if not match["negated"]]
    outer = [match for match in found[:1] if not re.search(r"\w", text[: match.start()])]
    outer += [match for match in found[-1:] if not re.search(r"\w", text[match.end() :])]
    inner = found if anywhere else [match for match in found if match[0].isupper()]
    answers = {bool(match["yes"]) for match in outer or inner}
    return answers.pop() if len(answers) == 1 else None
