"""Parse answers of one word: yes or no, and how two statements relate. Without database access."""

import re

from apps.extraction.parsers.records import Line, ParsedLines, has_lines, iter_lines, unused_report
from apps.extraction.parsers.text_cleanup import clean_reply
from apps.memories.verdicts.questions import Relation

_YES_NO = re.compile(
    r"(?P<negated>(?:\bnot|n['’]t|\bneither)\s+(?:an?\s+|the\s+)?)?\b(?:(?P<yes>yes)|(?P<no>no))\b", re.I
)
_RELATIONS = {
    "update": Relation.UPDATE, "updates": Relation.UPDATE, "updated": Relation.UPDATE,
    "same": Relation.SAME, "independent": Relation.INDEPENDENT,
}  # fmt: skip
_NUMBER = re.compile(r"\d{1,9}")
_RELATION = re.compile(rf"(?<!not )\b(?:{'|'.join(_RELATIONS)})\b", re.IGNORECASE)

_ANSWER = re.compile(rf"[\W_]*(?:pairs?\b)?[\W_]*\d{{1,9}}[\W_]+(?:{'|'.join(_RELATIONS)})\b", re.IGNORECASE)


def parse_yes_no(reply: str) -> bool | None:
    """Return True for YES, False for NO, and None if the reply says neither or both.

    The answer is the first or last word of the reply, else a word in capitals, since in prose "no" is mostly part of
    a sentence.
    """
    text = clean_reply(reply).replace("_", " ")
    matches = [match for match in _YES_NO.finditer(text) if not match["negated"]]
    outer = [match for match in matches[:1] if not re.search(r"\w", text[: match.start()])]
    outer += [match for match in matches[-1:] if not re.search(r"\w", text[match.end() :])]
    answers = {bool(match["yes"]) for match in outer or [match for match in matches if match[0].isupper()]}
    return answers.pop() if len(answers) == 1 else None


def parse_relations(reply: str) -> ParsedLines[tuple[int, Relation]]:
    """Parse lines such as ``[2] UPDATE``: the number of a pair, and how its newer statement relates to the older one.

    Never raise. A line that names two relations is unused.
    """
    lines = [line.written for line in iter_lines(reply) if line.text]
    found = [(line, _relation(line)) for line in lines]
    items = [relation for _, relation in found if relation]
    return ParsedLines(items, unused_report([line for line, relation in found if not relation], 0, reply))


def is_comparison(reply: str) -> bool:
    """Return whether a reply relates a pair, has another tagged line, or says NONE."""
    return bool(parse_relations(reply).items) or has_lines(reply)


def is_relation(line: Line) -> bool:
    """Return whether a line begins with the number of a pair and a relation, as in "1. UPDATE"."""
    return bool(_ANSWER.match(line.written))


def _relation(line: str) -> tuple[int, Relation] | None:
    number = _NUMBER.search(line)
    relations = {_RELATIONS[word.lower()] for word in _RELATION.findall(line)}
    return (int(number[0]), relations.pop()) if number and len(relations) == 1 else None


def format_relation(number: int, relation: Relation) -> str:
    """Return the line of a relation so that ``parse_relations`` reads it back."""
    return f"[{number}] {relation.upper()}"
