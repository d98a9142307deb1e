"""Parse one-word answers. Without database access."""

import re
from re import Pattern

from apps.extraction.parsers.text_cleanup import clean_reply

_NEGATION = r"(?P<negated>(?:\bnot|n['’]t|\bneither)\s+(?:an?\s+|the\s+)?)?"
_YES_NO = re.compile(_NEGATION + r"\b(?:(?P<yes>yes)|(?P<no>no))\b", re.IGNORECASE)
_UPDATE = re.compile(_NEGATION + r"\b(?:(?P<yes>updates?|updated)|(?P<no>independent))\b", re.IGNORECASE)


def parse_yes_no(reply: str) -> bool | None:
    """Return True for YES, False for NO, and None if the reply says neither or both.

    The answer is the first or last word of the reply, else a word in capitals, since in prose "no" is mostly part of
    a sentence.
    """
    return _parse_answer(reply, _YES_NO, anywhere=False)


def parse_update(reply: str) -> bool | None:
    """Return True for UPDATE, False for INDEPENDENT, and None if the reply says neither or both.

    The first and last word of the reply take precedence over the words between.
    """
    return _parse_answer(reply, _UPDATE, anywhere=True)


def _parse_answer(reply: str, words: Pattern[str], *, anywhere: bool) -> bool | None:
    text = clean_reply(reply).replace("_", " ")
    matches = [match for match in words.finditer(text) if not match["negated"]]
    outer = [match for match in matches[:1] if not re.search(r"\w", text[: match.start()])]
    outer += [match for match in matches[-1:] if not re.search(r"\w", text[match.end() :])]
    inner = matches if anywhere else [match for match in matches if match[0].isupper()]
    answers = {bool(match["yes"]) for match in outer or inner}
    return answers.pop() if len(answers) == 1 else None
