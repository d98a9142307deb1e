"""Ask the model, in one question, about all that is uncertain after a reading and all that is due."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.chats.models import Character
from apps.extraction.parsers.reading import divide_review, is_review, parse_review
from apps.extraction.prompts.rendering import join_blocks
from apps.extraction.stages import consolidation, continuity, judging
from apps.extraction.stages.context import Context, StageOutcome
from apps.extraction.stages.extraction import Proposals
from apps.llm.generation import Refused
from apps.memories.models import Memory
from apps.memories.verdicts.questions import Relation
from apps.memories.verdicts.statements import Pair

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
    proposals: Sequence[tuple[Character | None, Proposals]],
    groups: Sequence[list[Memory]],
    check: continuity.Check | None,
) -> Answers:
    """Ask about uncertain pairs, merges of groups of memories, and contradictions; no call if there are none."""
    pairs = judging.first_pairs(
        context, list(dict.fromkeys(pair for _, one in proposals for pair in one.uncertain_pairs))
    )
    groups = _first_groups(groups)
    blocks: list[tuple[str, dict[str, Any]]] = []
    if pairs:
        blocks.append(("pairs", {"pairs": judging.pairs_material(pairs)}))
    entries = [entry for group in groups for entry in group]
    if groups:
        blocks.append(("merges", {"groups": _groups_material(groups)}))
    if check:
        blocks.append(("contradictions", check.material))
    if not blocks:
        return Answers()
    limit = TOKENS_PER_PAIR * len(pairs) + TOKENS_PER_ENTRY * len(entries) + CONTRADICTION_TOKENS * (check is not None)
    try:
        reply = context.ask(
            "review",
            {"questions": join_blocks("questions", blocks)},
            max_tokens=limit,
            is_usable=is_review,
            parse=parse_review,
        )
    except Refused as failure:
        # What the model refuses to read may be in a group or in the newest reply: ask about the pairs alone.
        alone = judging.ask_about(context, pairs) if groups or check else {}
        considered = consolidation.outcome_of(context, [], groups, [failure.detail])
        return Answers(alone or {}, [considered])
    divided = divide_review(reply)
    texts = divided.texts
    merges, unused = consolidation.merges_from(texts.get("consolidate", ""), entries, groups)
    outcomes = [consolidation.outcome_of(context, merges, groups, unused)]
    context.unused += divided.unused
    if check:
        outcomes.append(continuity.outcome_of(context, check, texts.get("continuity", "NONE")))
    return Answers(judging.answers_from(context, texts.get("pairs", ""), pairs), outcomes)


def _first_groups(groups: Sequence[list[Memory]]) -> list[list[Memory]]:
    """Return the first groups that have at most MAX_MERGED entries together."""
    kept: list[list[Memory]] = []
    for group in groups:
        if sum(map(len, kept)) + len(group) > MAX_MERGED:
            break
        kept.append(group)
    return kept


def _groups_material(groups: Sequence[list[Memory]]) -> list[list[dict[str, Any]]]:
    """Return the entries of each group as template values, numbered throughout."""
    material: list[list[dict[str, Any]]] = []
    for group in groups:
        material.append(consolidation.entries_material(group, 1 + sum(map(len, material))))
    return material
