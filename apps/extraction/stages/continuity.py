"""Continuity: contradictions between the newest reply and known facts, and a note that repairs them."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.chats.macros import Draws, resolve_card_text, resolve_choices
from apps.chats.models import Message
from apps.extraction.parsers.continuity import is_check, parse_contradictions
from apps.extraction.parsers.free_text import parse_free_text
from apps.extraction.runs.continuity_checks import is_checked
from apps.extraction.stages.context import NO_OUTCOME, Context, StageOutcome, Window, turns_material
from apps.extraction.stages.turns import parts_of
from apps.llm.generation import Refused
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory, VersionedText
from apps.memories.operations.texts import replace_current, write_version
from apps.memories.queries.memories import active_memories
from apps.memories.queries.texts import current_version

MAX_TOKENS, REPAIR_TOKENS = 300, 200
MAX_NOTE = 1000  # characters
MAX_CARD = 4000  # characters of each field of the card
MAX_FACTS = 80


@dataclass(frozen=True)
class Check:
    """A reply to compare with facts, which are numbered from 1."""

    reply: Message
    facts: Sequence[str]

    @property
    def material(self) -> dict[str, Any]:
        """Return the template values of prompts."""
        return {
            "turn": turns_material({self.reply.index: self.reply})[0],
            "facts": [{"number": number, "text": text} for number, text in enumerate(self.facts, 1)],
        }


def run(context: Context, window: Window) -> StageOutcome:
    """Compare the newest reply with the card, the memories and the summary.

    A run that reads with one call does so in its review instead.
    """
    if context.run.steps.filter(stage="reading").exists():
        return NO_OUTCOME
    check = due_check(context)
    if check is None:
        return NO_OUTCOME
    context.also_read = [check.reply]
    answer = context.ask(
        "continuity", check.material, max_tokens=MAX_TOKENS, is_usable=is_check, parse=parse_contradictions
    )
    return outcome_of(context, check, answer)


def due_check(context: Context, max_tokens: float = math.inf) -> Check | None:
    """Return what to compare the newest reply with, in at most ``max_tokens``; None if nothing is to be compared."""
    replies = Message.objects.for_owner(context.owner_id).filter(chat=context.chat, is_user=False, is_system=False)
    reply = replies.remembered().with_swipes().order_by("-index").first()
    if reply is None or (context.run.tiers != ["continuity"] and is_checked(reply)):
        return None
    facts = _within(_facts(context, reply), max_tokens)
    return Check(reply, facts) if facts else None


def _within(facts: Sequence[str], max_tokens: float) -> list[str]:
    """Return facts that have at most ``max_tokens`` together. One that has more than a third of them is cut."""
    if math.isinf(max_tokens):
        return list(facts)
    kept: list[str] = []
    left = max_tokens
    for fact in facts:
        shortened = parts_of(fact, max_tokens / 3)[0]
        tokens = count_tokens(shortened)
        if tokens <= left:
            left -= tokens
            kept.append(shortened)
    return kept


def outcome_of(context: Context, check: Check, answer: str) -> StageOutcome:
    """Return the outcome of a check from the model's answer."""
    parsed = parse_contradictions(answer)
    numbered = dict(enumerate(check.facts, 1))
    issues = [{"text": item.text, "fact": numbered.get(item.number or 0, "")} for item in parsed.items]
    note = _repair(context, check.reply, issues) if issues and context.settings.continuity_repair else ""

    def write() -> Counter[str]:
        parts = {"issues": issues, "message": str(check.reply.pk)}
        common: dict[str, Any] = {"last": check.reply, "run_id": context.run.pk}
        text = "\n".join(issue["text"] for issue in issues)
        write_version(context.chat, VersionedText.Kind.CONTINUITY, text=text, parts=parts, **common)
        if note:
            write_version(context.chat, VersionedText.Kind.REPAIR, text=note, parts={"for_all": True}, **common)
        else:
            replace_current(context.chat, VersionedText.Kind.REPAIR)
        return Counter(contradictions=len(issues))

    return StageOutcome(write, parsed.unused)


def _repair(context: Context, reply: Message, issues: list[dict[str, str]]) -> str:
    """Ask for a note to the model that corrects the contradictions; empty if the model refuses."""
    material = {
        "issues": [issue["text"] for issue in issues],
        "facts": [issue["fact"] for issue in issues if issue["fact"]],
    }
    try:
        note = parse_free_text(context.ask("repair", material, max_tokens=REPAIR_TOKENS), MAX_NOTE)
    except Refused:
        return ""
    return context.attributed(note, {"turns": turns_material({reply.index: reply})})


def _is_divided(context: Context) -> bool:
    """Return whether the chat is a group in which one member may know what another doesn't."""
    return context.chat.is_group and context.settings.witnesses_only


def _facts(context: Context, reply: Message) -> list[str]:
    """Return the texts to check against: card, memories and summary, without memories learnt from the reply.

    In a group whose members know what they witnessed, they are the card and what all of them know, since the note is
    for whoever answers.
    """
    character = context.character
    names = context.chat.names_for(character)
    card_of = None if character and character.withheld else character
    fields = [card_of.description, card_of.personality, card_of.scenario] if card_of else []
    # Text that changes with each prompt can't be contradicted; ``{{pick}}`` has the same text as in the prompts.
    draws = Draws(str(context.chat.pk))
    card = [resolve_card_text(resolve_choices(text, draws), names) for text in fields]
    memories: list[str] = []
    is_divided = _is_divided(context)
    for tier in [Memory.Tier.SESSION] if is_divided else [Memory.Tier.LONG_TERM, Memory.Tier.SESSION]:
        rows = active_memories(context.chat, tier, character.pk if character else None).filter(hidden=False)
        rows = rows.exclude(valid_from=reply).order_by("-pinned", "-importance", "-pk")
        rows = rows.filter(witnessed_by=[]) if is_divided else rows
        memories += rows.values_list("text", flat=True)[:MAX_FACTS]
    summary = None if is_divided else current_version(context.chat, VersionedText.Kind.SUMMARY)
    return [text[:MAX_CARD] for text in [*card, *memories, summary.text if summary else ""] if text.strip()]
