"""Questions about pairs of statements: which are asked, and how answers are read."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from apps.extraction.parsers.records import Line, ParsedLines, has_lines, iter_lines, unused_report
from apps.extraction.prompts.task import Task
from apps.extraction.steps.context import Context
from apps.memories.verdicts.known_statements import Pair, Relation

ANSWER_TOKENS = 20
PAIR_TOKENS = 120  # tokens of two long statements in a question
MAX_PAIRS = 48  # in one question: the nearest two statements of as many candidates as most windows have
_RELATIONS = {
    "update": Relation.UPDATE, "updates": Relation.UPDATE, "updated": Relation.UPDATE,
    "same": Relation.SAME, "independent": Relation.INDEPENDENT,
}  # fmt: skip
_NUMBER = re.compile(r"\d{1,9}")
_RELATION = re.compile(rf"(?<!not )\b(?:{'|'.join(_RELATIONS)})\b", re.IGNORECASE)
_ANSWER = re.compile(rf"[\W_]*(?:pairs?\b)?[\W_]*\d{{1,9}}[\W_]+(?:{'|'.join(_RELATIONS)})\b", re.IGNORECASE)


def ask_about(context: Context, pairs: Sequence[Pair]) -> Mapping[Pair, Relation] | None:
    """Return the model's answers about the first pairs of statements; None for the built-in extractor.

    Pairs that the model refuses to compare have no answer.
    """
    if not context.has_model:
        return None
    pairs = first_pairs(context, pairs)
    if not pairs:
        return {}
    material = {"pairs": pairs_material(pairs)}
    reply = context.ask.unless_refused("pairs", material, max_tokens=ANSWER_TOKENS * len(pairs))
    return answers_from(context, reply, pairs)


def first_pairs(context: Context, pairs: Sequence[Pair]) -> Sequence[Pair]:
    """Return the pairs that fit into one question. All others are kept apart."""
    return pairs[: max(min(int(context.token_budget / PAIR_TOKENS), MAX_PAIRS), 1)]


def pairs_material(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return pairs as the template values of prompts."""
    return [{"number": number, "old": old, "new": new} for number, (old, new) in enumerate(pairs, 1)]


def answers_from(context: Context, reply: str, pairs: Sequence[Pair]) -> dict[Pair, Relation]:
    """Return the answers of a reply by pair, and note its unused lines in the context."""
    parsed = parse_relations(reply)
    numbered = dict(enumerate(pairs, 1))
    context.notes.unused += parsed.unused
    context.notes.unused += [format_relation(number, one) for number, one in parsed.items if number not in numbered]
    return {numbered[number]: relation for number, relation in parsed.items if number in numbered}


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


PAIRS = Task(
    "pairs",
    _("Whether new memories replace or repeat old ones."),
    ("pairs",),
    is_usable=is_comparison,
    words=("pair", "pairs"),
    parse=parse_relations,
)
