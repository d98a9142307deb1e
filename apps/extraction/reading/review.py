"""Ask the model, in one question, about all that is uncertain after a reading and all that is due."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_lazy as _

from apps.extraction.memories import consolidation, pair_questions
from apps.extraction.memories.proposals import Proposals
from apps.extraction.parsers.records import ParsedLines, has_lines, is_tagged, iter_records, says_none
from apps.extraction.prompts import examples
from apps.extraction.prompts.rendering import join_blocks
from apps.extraction.prompts.task import Task
from apps.extraction.reading.reply_parts import DividedReply, divided_reply, first_word, parse_parts
from apps.extraction.steps.context import Context, StageOutcome
from apps.extraction.steps.turns import fitting
from apps.extraction.tiers import continuity
from apps.llm.generation import Refused
from apps.memories.models import Memory
from apps.memories.verdicts.known_statements import Pair
from apps.memories.verdicts.uncertain_pairs import Relation

MAX_FACT_TOKENS = 600  # facts that the newest reply is compared with
MAX_MERGED = 60  # entries that are compared with each other in one question; the others are asked about later
TOKENS_PER_PAIR, TOKENS_PER_ENTRY, CONTRADICTION_TOKENS = 20, 40, 300  # of the reply


@dataclass(frozen=True)
class Answers:
    """Relations of pairs of statements, and outcomes of what was due. ``relations`` is empty if the model refused."""

    relations: Mapping[Pair, Relation] = field(default_factory=dict)
    outcomes: Sequence[StageOutcome] = ()


def ask(
    context: Context,
    proposals: Sequence[Proposals],
    groups: Sequence[list[Memory]],
    check: continuity.ReplyCheck | None,
) -> Answers:
    """Ask about uncertain pairs, merges of groups of memories, and contradictions; no call if there are none."""
    uncertain = list(dict.fromkeys(pair for one in proposals for pair in one.uncertain_pairs))
    pairs = pair_questions.first_pairs(context, uncertain)
    groups = fitting(groups, MAX_MERGED, len)
    blocks: list[tuple[Task, int, dict[str, Any]]] = []
    if pairs:
        blocks.append((pair_questions.PAIRS, 1, {"pairs": pair_questions.pairs_material(pairs)}))
    entries = [entry for group in groups for entry in group]
    if groups:
        blocks.append((consolidation.CONSOLIDATE, 1, {"groups": _groups_material(groups)}))
    if check:
        blocks.append((continuity.CONTINUITY, 1, check.material))
    if not blocks:
        return Answers()
    limit = TOKENS_PER_PAIR * len(pairs) + TOKENS_PER_ENTRY * len(entries) + CONTRADICTION_TOKENS * (check is not None)
    try:
        reply = context.ask("review", {"questions": join_blocks(blocks)}, max_tokens=limit)
    except Refused as failure:
        # What the model refuses to read may be in a group or in the newest reply: ask about the pairs alone.
        alone = pair_questions.ask_about(context, pairs) if groups or check else {}
        considered = consolidation.outcome_of_merges(context, [], groups, [failure.detail])
        return Answers(alone or {}, [considered])
    divided = divide_review(reply)
    texts = divided.texts
    merges, unused = consolidation.merges_from(texts.get("consolidate", ""), entries, groups)
    outcomes = [consolidation.outcome_of_merges(context, merges, groups, unused)]
    context.unused += divided.unused
    if check:
        outcomes.append(continuity.outcome_of_check(context, check, texts.get("continuity", "NONE")))
    return Answers(pair_questions.answers_from(context, texts.get("pairs", ""), pairs), outcomes)


def _groups_material(groups: Sequence[list[Memory]]) -> list[list[dict[str, Any]]]:
    """Return the entries of each group as template values, numbered throughout."""
    material: list[list[dict[str, Any]]] = []
    for group in groups:
        material.append(consolidation.entries_material(group, 1 + sum(map(len, material))))
    return material


# The tasks whose lines a reply to a review may have.
_ASKED = (pair_questions.PAIRS, consolidation.CONSOLIDATE, continuity.CONTINUITY)
_TASK_OF_WORD = {word: task.name for task in _ASKED for word in task.words}


def divide_review(reply: str) -> DividedReply:
    """Divide a reply to a review by task. Lines without a tag, and with a number as tag, are answers about pairs."""
    lines: dict[str, list[str]] = {}
    unused: list[str] = []
    for record in iter_records(reply, lambda line: is_tagged(line) or pair_questions.is_relation(line)):
        word = first_word(record.tag or "")
        task = _TASK_OF_WORD.get(word) if word else "pairs"
        if task:
            lines.setdefault(task, []).append(record.written if task == "pairs" else record.line)
        elif not says_none(record):
            unused.append(record.line)
    return divided_reply(lines, unused, reply)


def parse_review(reply: str) -> ParsedLines[Any]:
    """Parse the answers to all questions of a review. Never raise."""
    return parse_parts(divide_review(reply), {task.name: task.parse for task in _ASKED if task.parse})


def is_review(reply: str) -> bool:
    """Return whether a reply has a tagged line or the answer about a pair, or says that there is nothing to note."""
    return has_lines(reply) or bool(parse_review(reply).items)


REVIEW = Task(
    "review",
    _("All that is uncertain or due after a reading, in one call."),
    ("questions",),
    is_usable=is_review,
    parse=parse_review,
    example=lambda: {"questions": join_blocks([(pair_questions.PAIRS, 1, examples.MATERIAL)])},
)
