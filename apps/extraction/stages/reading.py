"""Read a window for all tiers with one call of the model, and ask about all that is uncertain or due with a second."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from apps.chats.models import Character, Message
from apps.extraction.parsers.reading import DividedReply, divide_reply, is_reading, parse_reading
from apps.extraction.prompts.languages import named_language
from apps.extraction.prompts.rendering import join_blocks
from apps.extraction.stages import (
    arcs,
    consolidation,
    continuity,
    epistemic,
    extraction,
    known,
    ledger,
    plain,
    review,
    scenes,
)
from apps.extraction.stages.context import NO_OUTCOME, Context, StageOutcome, Window, turns_material
from apps.extraction.stages.extraction import Proposals
from apps.extraction.stages.turns import messages_between
from apps.memories.models import Memory
from apps.memories.witnesses import learners

TIERS = ("scenes", "session", "long_term", "arcs", "ledger", "epistemic")
TOKENS_PER_MESSAGE, MIN_TOKENS, MAX_TOKENS = 150, 1500, 8000  # of the reply


def run(context: Context, window: Window) -> StageOutcome:
    """Read a window for those of TIERS that have not read it."""
    if not window.turns:
        return NO_OUTCOME
    members = learners(context.chat)
    reply, offered = _ask(context, window, members)
    replies = _replies(context, reply)
    is_empty = not reply.texts and not reply.breaks
    if is_empty and "long_term" in context.tiers and plain.is_doubtful("", window.turns):
        replies["long_term"] = extraction.doubted_reply(context, window.turns)
    context = replace(context, replies=replies)
    proposals = _proposals(context, window, members)
    answers = review.ask(context, proposals, _due_entries(context, members), _due_check(context, window))
    outcomes = [extraction.outcome_of(_of_member(context, member), one, answers.relations) for member, one in proposals]
    if "scenes" in context.tiers:
        outcomes.append(scenes.outcome_of(context, window, reply.breaks))
    if "arcs" in context.tiers:
        outcomes.append(arcs.outcome_of(context, window, offered["open"]))
    if "ledger" in context.tiers:
        outcomes.append(ledger.run(context, window))
    if "epistemic" in context.tiers:
        outcomes.append(epistemic.outcome_of(context, window, offered["knowledge"]))
    return _joined([*outcomes, *answers.outcomes], [*reply.unused, *_unasked(context, reply)])


def _ask(
    context: Context, window: Window, members: Sequence[Character | None]
) -> tuple[DividedReply, Mapping[str, Any]]:
    """Ask for the lines of all tiers. Return the reply, and the ids that its numbers stand for, by list."""
    known_values = known.known_material(context, window.turns, members)
    subject = ", ".join(character.name for one in members if (character := one or context.chat.character))
    values = {"subject": subject, "per_kind": context.settings.new_per_kind}
    forms = [tier for tier in TIERS if tier in context.tiers]
    if "long_term" in forms:
        after = forms.index("long_term") + 1
        forms[after:after] = ["members", "relationships"] if len(members) > 1 else ["relationships"]
    material = {
        "forms": join_blocks("forms", [(form, values) for form in forms]),
        "turns": turns_material(window.turns, dates=context.settings.dates, zone=context.zone),
        "earlier": turns_material(_earlier(context, window), dates=context.settings.dates, zone=context.zone),
        "language": named_language(turn.mes for turn in window.turns.values()),
        **known_values,
    }
    limit = min(max(MIN_TOKENS, TOKENS_PER_MESSAGE * len(window.turns)), MAX_TOKENS)
    answer = context.ask_question(
        "reading",
        material,
        max_tokens=limit,
        forms=forms,
        is_usable=is_reading,
        parse=parse_reading,
        # What is known may change until the window is read. That is no reason to pay for it twice.
        key=" ".join([window.key, *forms]),
        offered={
            name: {str(entry["number"]): entry["id"] for entry in known_values[name]} for name in ("open", "knowledge")
        },
    )
    return divide_reply(answer.text), answer.offered


def _earlier(context: Context, window: Window) -> dict[int, Message]:
    """Return the messages before the window that the prompt shows for reference."""
    first = window.messages[0].index
    return Window(messages_between(context.chat, first - context.earlier_count, first - 1)).turns


def _replies(context: Context, reply: DividedReply) -> dict[str, str]:
    """Return the lines of each task as a reply to it; "NONE" for a task that has none."""
    tasks = {"session", "long_term", "relationships", "arcs", "ledger", "epistemic"}
    return dict.fromkeys(tasks, "NONE") | dict(reply.texts)


def _unasked(context: Context, reply: DividedReply) -> list[str]:
    """Return the lines of tiers that were not asked for."""
    asked = context.tiers | ({"relationships"} if "long_term" in context.tiers else set())
    return [line for task, text in reply.texts.items() if task not in asked for line in text.split("\n")]


def _of_member(context: Context, member: Character | None) -> Context:
    return replace(context, character=member or context.chat.character)


def _proposals(
    context: Context, window: Window, members: Sequence[Character | None]
) -> list[tuple[Character | None, Proposals]]:
    """Return the proposals of session memories, and those of each member's long-term ones."""
    found: list[tuple[Character | None, Proposals]] = []
    if "session" in context.tiers:
        session = extraction.propose(context, window.turns, Memory.Tier.SESSION, context.replies["session"])
        found.append((None, session))
    if "long_term" in context.tiers:
        for member in members:
            of_member = _of_member(context, member)
            witnessed = set(of_member.witnessed(window.turns)) if context.chat.is_group else None
            reply = context.replies["long_term"]
            found.append((member, extraction.propose(of_member, window.turns, Memory.Tier.LONG_TERM, reply, witnessed)))
    return found


def _due_entries(context: Context, members: Sequence[Character | None]) -> list[list[Memory]]:
    """Return the groups of memories that are due to be merged."""
    groups: list[list[Memory]] = []
    if "session" in context.tiers:
        groups += consolidation.due_entries(context, Memory.Tier.SESSION)
    if "long_term" in context.tiers:
        for member in members:
            groups += consolidation.due_entries(_of_member(context, member), Memory.Tier.LONG_TERM)
    return groups


def _due_check(context: Context, window: Window) -> continuity.Check | None:
    """Return the check of the newest reply, if the run reads no other window before it."""
    last = window.messages[-1]
    is_last = last.index >= context.last_index or last.pk == context.run.last_id
    if "continuity" not in context.run.tiers or not is_last:
        return None
    return continuity.due_check(context, review.MAX_FACT_TOKENS)


def _joined(outcomes: Iterable[StageOutcome], unused: Sequence[str]) -> StageOutcome:
    """Return one outcome that writes all of them."""
    outcomes = list(outcomes)

    def write() -> Counter[str]:
        return sum((outcome.write() for outcome in outcomes), Counter[str]())

    return StageOutcome(write, [*unused, *dict.fromkeys(line for outcome in outcomes for line in outcome.unused)])
