"""Long-term memories: what a character keeps in all chats. Of a group, each member learns what they witnessed."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from apps.chats.models import Message
from apps.extraction.memories import consolidation, pair_questions, plain, relationships, triggers
from apps.extraction.memories.lines import (
    MAX_LINE_TOKENS,
    ask_for_memories,
    memory_material,
    memory_task,
)
from apps.extraction.memories.outcomes import remember
from apps.extraction.steps.context import NO_OUTCOME, Context, StageOutcome, Window
from apps.extraction.tier import Form, Tier
from apps.llm.generation import get_backend

NAME = "long_term"


def run(context: Context, window: Window) -> StageOutcome:
    """Extract long-term memories from the turns of a window that the character witnessed."""
    turns = context.witnessed(window.turns)
    return remember(context, turns, NAME, _reply(context, turns)) if turns else NO_OUTCOME


def _reply(context: Context, turns: Mapping[int, Message]) -> str:
    """Return the lines about the turns: those of a small model, if it is asked, or else those of the run's model."""
    if context.small and (reply := plain.read(context, context.small, turns)):
        return reply
    reply = ask_for_memories(context, turns, NAME)
    is_doubted = context.has_model and plain.is_doubtful(reply, turns)
    return doubted_reply(context, turns) if is_doubted else reply


def doubted_reply(context: Context, turns: Mapping[int, Message]) -> str:
    """Return the memories of turns in which a large model found none: its second answer, else by rules."""
    if reply := plain.second_opinion(context, context.backend, turns):
        return reply
    material = memory_material(context, turns, NAME, None)
    return context.ask.answer(NAME, material, max_tokens=MAX_LINE_TOKENS, backend=get_backend()).text


def merge(context: Context, window: Window) -> StageOutcome:
    """Merge long-term memories."""
    return consolidation.run(context, NAME)


LONG_TERM = memory_task(
    NAME, _("Memories that a character keeps beyond one chat."), ("known", "participants", "per_kind", "subject")
)
TIER = Tier(
    NAME,
    run,
    (LONG_TERM, triggers.TRIGGERS, relationships.RELATIONSHIPS, consolidation.CONSOLIDATE, pair_questions.PAIRS),
    per_member=True,
    merge=merge,
    forms=(
        Form(NAME, LONG_TERM),
        Form("members", LONG_TERM, part=2, only_in_groups=True),
        relationships.FORM,
    ),
    has_memories=True,
)
