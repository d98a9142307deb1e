"""Continuity: contradictions between the newest reply and known facts, and a note that repairs them."""

from collections import Counter
from typing import Any

from apps.chats.models import Message
from apps.extraction.parsers.continuity import parse_contradictions
from apps.extraction.parsers.free_text import parse_free_text
from apps.extraction.stages.context import NO_OUTCOME, Context, StageOutcome, Window, turns_material
from apps.extraction.stages.summary import current_summary
from apps.memories.models import Memory, VersionedText
from apps.memories.operations.texts import write_version
from apps.memories.queries.memories import active_memories

MAX_TOKENS, REPAIR_TOKENS = 300, 200
MAX_NOTE = 1000  # characters
MAX_CARD = 4000  # characters of each field of the card
MAX_FACTS = 80


def run(context: Context, window: Window) -> StageOutcome:
    """Compare the newest reply with the card, the memories and the summary."""
    replies = Message.objects.for_owner(context.owner_id).filter(chat=context.chat, is_user=False, is_system=False)
    reply = replies.with_swipes().order_by("-index").first()
    facts = _facts(context, reply)
    if reply is None or not facts:
        return NO_OUTCOME
    numbered = dict(enumerate(facts, 1))
    material: dict[str, Any] = {
        "turn": turns_material({reply.index: reply})[0],
        "facts": [{"number": number, "text": text} for number, text in numbered.items()],
    }
    parsed = parse_contradictions(context.ask("continuity", material, max_tokens=MAX_TOKENS))
    issues = [{"text": item.text, "fact": numbered.get(item.number or 0, "")} for item in parsed.items]
    note = _repair(context, issues) if issues and context.settings.continuity_repair else ""

    def write() -> Counter[str]:
        parts = {"issues": issues, "message": str(reply.pk)}
        common: dict[str, Any] = {"chat": context.chat, "last": reply, "run_id": context.run.pk}
        text = "\n".join(issue["text"] for issue in issues)
        write_version(context.owner_id, VersionedText.Kind.CONTINUITY, text=text, parts=parts, **common)
        if note:
            write_version(context.owner_id, VersionedText.Kind.REPAIR, text=note, **common)
        return Counter(contradictions=len(issues))

    return StageOutcome(write, parsed.unused)


def _repair(context: Context, issues: list[dict[str, str]]) -> str:
    """Ask for a note to the model that corrects the contradictions."""
    material = {
        "issues": [issue["text"] for issue in issues],
        "facts": [issue["fact"] for issue in issues if issue["fact"]],
    }
    return parse_free_text(context.ask("repair", material, max_tokens=REPAIR_TOKENS), MAX_NOTE)


def _facts(context: Context, reply: Message | None) -> list[str]:
    """Return the texts to check against: card, memories and summary, without memories learnt from the reply."""
    if reply is None:
        return []
    character = context.character
    card = [character.description, character.personality, character.scenario] if character else []
    memories: list[str] = []
    for tier in (Memory.Tier.LONG_TERM, Memory.Tier.SESSION):
        rows = active_memories(context.chat, tier, character.pk if character else None).filter(hidden=False)
        rows = rows.exclude(valid_from=reply).order_by("-pinned", "-importance", "-pk")
        memories += rows.values_list("text", flat=True)[:MAX_FACTS]
    summary = current_summary(context)
    return [text[:MAX_CARD] for text in [*card, *memories, summary.text if summary else ""] if text.strip()]
