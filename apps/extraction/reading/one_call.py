"""Read a window for all tiers with one call of the model, and ask about all that is uncertain or due with a second."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext_lazy as _

from apps.chats.models import Character, Message
from apps.extraction.memories import consolidation, pair_questions, plain
from apps.extraction.memories.outcomes import outcome_of_proposals
from apps.extraction.memories.proposals import Proposals, propose
from apps.extraction.progress import window_key
from apps.extraction.prompts import examples
from apps.extraction.prompts.rendering import join_blocks
from apps.extraction.prompts.task import Task, any_line_of
from apps.extraction.reading.known_material import known_material
from apps.extraction.reading.registry import forms_of, forms_with_lines, tiers_with_forms
from apps.extraction.reading.reply_parts import (
    DividedReply,
    divide_reply,
    divide_review,
    is_reading,
    is_review,
    parse_reading,
    parse_review,
)
from apps.extraction.steps.asking import Answer
from apps.extraction.steps.context import Context, StageOutcome, Window, turns_material
from apps.extraction.steps.turns import fitting, messages_between
from apps.extraction.tier import Form, Tier
from apps.extraction.tiers import continuity, long_term
from apps.llm.generation import Refused
from apps.memories.models import Memory
from apps.memories.verdicts.known_statements import Pair, Relation
from apps.memories.witnesses import learners
from apps.text.detection import ENGLISH_NAMES, MAX_CHARACTERS, language_of

TOKENS_PER_MESSAGE, MIN_TOKENS, MAX_TOKENS = 150, 1500, 8000  # of the reply
MAX_FACT_TOKENS = 600  # facts that the newest reply is compared with
MAX_MERGED = 60  # entries that are compared with each other in one question; the others are asked about later
TOKENS_PER_PAIR, TOKENS_PER_ENTRY, CONTRADICTION_TOKENS = 20, 40, 300  # of the reply to the second call
UNNAMED_LANGUAGE = "the language of the messages"


def run(context: Context, window: Window) -> StageOutcome:
    """Read a window for those tiers with forms of lines that have not read it."""
    members = learners(context.chat)
    tiers = tiers_with_forms(context.tiers)
    forms = forms_of(tiers, is_group=len(members) > 1)
    reply, offered = _ask(context, window, members, forms)
    answers = {
        form.name: Answer(reply.texts.get(form.name, "NONE"), offered.get(form.known.name, {}) if form.known else {})
        for form in forms_with_lines()
    }
    if not reply.texts and "long_term" in context.tiers and plain.is_doubtful("", window.turns):
        answers["long_term"] = Answer(long_term.doubted_reply(context, window.turns))
    check = _due_check(context, window)
    if check is not None:
        context.notes.also_read.append(check.reply)
    context = replace(context, reading=answers)
    found = _proposals(context, window, tiers, members)
    due = [entries for own, proposals in found for entries in consolidation.due_entries(own, proposals.tier)]
    review = _review(context, [proposals for _, proposals in found], due, check)
    outcomes = [outcome_of_proposals(own, proposals, review.relations) for own, proposals in found]
    outcomes += [tier.from_reading(context, window, answers[tier.name]) for tier in tiers if tier.from_reading]
    asked = {form.name for form in forms}
    unasked = [line for name, text in reply.texts.items() if name not in asked for line in text.split("\n")]
    return _joined([*outcomes, *review.outcomes], [*reply.unused, *unasked])


def _proposals(
    context: Context, window: Window, tiers: Sequence[Tier], members: Sequence[Character | None]
) -> list[tuple[Context, Proposals]]:
    """Return the proposals of the tiers whose lines are memories, with the context of each member who keeps them."""
    assert context.reading is not None
    found = []
    for tier in tiers:
        if not tier.has_memories:
            continue
        for member in members if tier.per_member else [None]:
            own = context.of_member(member)
            witnessed = set(own.witnessed(window.turns)) if tier.per_member and own.chat.is_group else None
            found.append((own, propose(own, window.turns, tier.name, context.reading[tier.name].text, witnessed)))
    return found


def _ask(
    context: Context, window: Window, members: Sequence[Character | None], forms: Sequence[Form]
) -> tuple[DividedReply, Mapping[str, Any]]:
    """Ask for the lines of all tiers. Return the reply, and the ids that its numbers stand for, by list."""
    known = known_material(context, window.turns, members)
    earlier = _earlier(context, window)
    subject = ", ".join(character.name for one in members if (character := one or context.chat.character))
    material = {
        "forms": _forms_text(forms, {"subject": subject, "per_kind": context.settings.new_per_kind}),
        "turns": turns_material(window.turns, dates=context.settings.dates, zone=context.zone),
        "earlier": turns_material(earlier, dates=context.settings.dates, zone=context.zone),
        "language": named_language(turn.mes for turn in window.turns.values()),
        **known,
    }
    limit = min(max(MIN_TOKENS, TOKENS_PER_MESSAGE * len(window.turns)), MAX_TOKENS)
    answer = context.ask.answer(
        "reading",
        material,
        max_tokens=limit,
        line_pattern=any_line_of(form.pattern for form in forms),
        # What is known may change until the window is read. That is no reason to pay for it twice. A message that
        # was shown for reference and changed or was hidden since is one: the reply may tell what it said.
        key=" ".join([window.key, window_key(list(earlier.values()), ""), *(form.name for form in forms)]),
        offered={
            form.known.name: {str(entry["number"]): entry["id"] for entry in known[form.known.name] if "id" in entry}
            for form in forms_with_lines()
            if form.known
        },
    )
    return divide_reply(answer.text), answer.offered


def _forms_text(forms: Sequence[Form], values: Mapping[str, Any]) -> str:
    return join_blocks((form.task, form.part, values) for form in forms)


def _earlier(context: Context, window: Window) -> dict[int, Message]:
    """Return the messages before the window that the prompt shows for reference."""
    first = window.messages[0].index
    return Window(messages_between(context.chat, first - context.earlier_count, first - 1)).turns


def named_language(texts: Iterable[str]) -> str:
    """Return the English name of the language that the newest of the texts are mostly in, else words for it."""
    return ENGLISH_NAMES.get(language_of(" ".join(texts)[-MAX_CHARACTERS:], ""), UNNAMED_LANGUAGE)


def _due_check(context: Context, window: Window) -> continuity.ReplyCheck | None:
    """Return the check of the newest reply, if the run reads no other window before it."""
    last = window.messages[-1]
    is_last = last.index >= context.last_index or last.pk == context.run.last_id
    if "continuity" not in context.run.tiers or not is_last:
        return None
    return continuity.due_check(context, MAX_FACT_TOKENS)


def _joined(outcomes: Sequence[StageOutcome], unused: Sequence[str]) -> StageOutcome:
    """Return one outcome that writes all of them."""
    writes = [write for outcome in outcomes for write in outcome.writes]
    return StageOutcome(writes, [*unused, *dict.fromkeys(line for outcome in outcomes for line in outcome.unused)])


# What is uncertain after a reading, and what is due, in a second call


@dataclass(frozen=True)
class _Answers:
    """Relations of pairs of statements, and outcomes of what was due. ``relations`` is empty if the model refused."""

    relations: Mapping[Pair, Relation] = field(default_factory=dict)
    outcomes: Sequence[StageOutcome] = ()


def _review(
    context: Context,
    proposals: Sequence[Proposals],
    groups: Sequence[list[Memory]],
    check: continuity.ReplyCheck | None,
) -> _Answers:
    """Ask about uncertain pairs, merges of groups of memories, and contradictions; no call if there are none."""
    uncertain = list(dict.fromkeys(pair for one in proposals for pair in one.compared.uncertain_pairs))
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
        return _Answers()
    limit = TOKENS_PER_PAIR * len(pairs) + TOKENS_PER_ENTRY * len(entries) + CONTRADICTION_TOKENS * (check is not None)
    try:
        reply = context.ask("review", {"questions": join_blocks(blocks)}, max_tokens=limit)
    except Refused as failure:
        # What the model refuses to read may be in a group or in the newest reply: ask about the pairs alone.
        alone = pair_questions.ask_about(context, pairs) if groups or check else {}
        considered = consolidation.outcome_of_merges(context, [], groups, [failure.detail])
        return _Answers(alone or {}, [considered])
    divided = divide_review(reply)
    texts = divided.texts
    merges, unused = consolidation.merges_from(texts.get("consolidate", ""), entries, groups)
    outcomes = [consolidation.outcome_of_merges(context, merges, groups, unused)]
    context.notes.unused += divided.unused
    if check:
        outcomes.append(continuity.outcome_of_check(context, check, texts.get("continuity", "NONE")))
    return _Answers(pair_questions.answers_from(context, texts.get("pairs", ""), pairs), outcomes)


def _groups_material(groups: Sequence[list[Memory]]) -> list[list[dict[str, Any]]]:
    """Return the entries of each group as template values, numbered throughout."""
    material: list[list[dict[str, Any]]] = []
    for group in groups:
        material.append(consolidation.entries_material(group, 1 + sum(map(len, material))))
    return material


READING = Task(
    "reading",
    _("All that new messages tell, in one call."),
    ("forms", "transcript"),
    ("participants", "memories", "open", "entities", "knowledge", "relationships", "earlier", "language"),
    is_usable=is_reading,
    parse=parse_reading,
    example=lambda: {
        "forms": _forms_text(forms_of(tiers_with_forms(), is_group=False), {"subject": "Mira", "per_kind": 4}),
        "turns": examples.TURNS[2:],
        "earlier": examples.TURNS[:2],
        "memories": examples.KNOWN_MEMORIES,
        "entities": examples.ENTITIES[:1],
    },
)
REVIEW = Task(
    "review",
    _("All that is uncertain or due after a reading, in one call."),
    ("questions",),
    is_usable=is_review,
    parse=parse_review,
    example=lambda: {"questions": join_blocks([(pair_questions.PAIRS, 1, examples.MATERIAL)])},
)
