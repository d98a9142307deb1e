"""Continuity: contradictions between the newest reply and known facts, and a note that repairs them."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.utils.translation import gettext_lazy as _

from apps.chats.macros import Draws, resolve_card_text, resolve_choices
from apps.chats.models import Message
from apps.extraction.parsers.free_text import parse_free_text
from apps.extraction.parsers.records import Line, ParsedLines, Record, has_lines, is_heading, iter_records, parse_lines
from apps.extraction.parsers.text_cleanup import clean_line
from apps.extraction.progress import is_checked
from apps.extraction.prompts.task import Task
from apps.extraction.steps.context import NO_OUTCOME, Context, StageOutcome, Window, turns_material
from apps.extraction.steps.turns import parts_of
from apps.extraction.tier import Tier
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory, VersionedText
from apps.memories.operations.texts import NewVersion, replace_current, write_version
from apps.memories.queries.memories import active_memories
from apps.memories.queries.texts import current_version

MAX_NOTE = 1000  # characters
MAX_CARD = 4000  # characters of each field of the card
MAX_FACTS = 80
_TAG = re.compile(r"[*_`]*(?:contradictions?|conflicts?)[\s:=#*_`a-z]*(?P<number>\d{0,9}).*", re.IGNORECASE | re.DOTALL)
_FIRST_SENTENCE = re.compile(r"[^.!?\n。]*")
_PROBLEM = (
    r"(?:contradict(?:ion|ions|s)?|conflict(?:s|ing)?|inconsistenc(?:y|ies)|discrepanc(?:y|ies)|issues?|problems?)"
)
_ALL_CLEAR = re.compile(
    rf"\b(?:no|any|without|nothing|none)\b(?:\s+[\w’'-]+){{0,4}}?\s+{_PROBLEM}\b"
    r"|\b(?:does|do|did)(?:\s+not|n['’]t)\s+(?:\w+\s+)?(?:contradict|conflict)"
    r"|\bconsistent(?:\s+with\b|\W*$)"
    r"|\baligns?\s+with\b",
    re.IGNORECASE,
)
_NOT_CONSISTENT = re.compile(r"(?:\b(?:not|never)|n['’]t)\s+(?:\w+\s+){0,2}(?:consistent|align)", re.IGNORECASE)
_BUT = re.compile(
    r"\b(?:but|however|except|although|though|yet|while|whereas|says?|said|claims?|states)\b|;", re.IGNORECASE
)


@dataclass(frozen=True)
class ReplyCheck:
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
    context.notes.also_read.append(check.reply)
    return outcome_of_check(context, check, context.ask("continuity", check.material))


def due_check(context: Context, max_tokens: float = math.inf) -> ReplyCheck | None:
    """Return what to compare the newest reply with, in at most ``max_tokens``; None if nothing is to be compared."""
    replies = Message.objects.for_owner(context.owner_id).filter(chat=context.chat, is_user=False, is_system=False)
    reply = replies.remembered().with_swipes().order_by("-index").first()
    if reply is None or (not context.is_requested and is_checked(reply)):
        return None
    facts = _within(_facts(context, reply), max_tokens)
    return ReplyCheck(reply, facts) if facts else None


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


def outcome_of_check(context: Context, check: ReplyCheck, answer: str) -> StageOutcome:
    """Return the outcome of a check from the model's answer."""
    parsed = parse_contradictions(answer)
    numbered = dict(enumerate(check.facts, 1))
    issues = [{"text": item.text, "fact": numbered.get(item.number or 0, "")} for item in parsed.items]
    note = _repair(context, check.reply, issues) if issues and context.settings.continuity_repair else ""

    def write() -> Counter[str]:
        parts = {"issues": issues, "message": str(check.reply.pk)}
        found = NewVersion("\n".join(issue["text"] for issue in issues), parts, check.reply)
        write_version(context.chat, VersionedText.Kind.CONTINUITY, found, run_id=context.run.pk)
        if note:
            repair = NewVersion(note, {"for_all": True}, check.reply)
            write_version(context.chat, VersionedText.Kind.REPAIR, repair, run_id=context.run.pk)
        else:
            replace_current(context.chat, VersionedText.Kind.REPAIR)
        return Counter(contradictions=len(issues))

    return StageOutcome([write], parsed.unused)


def _repair(context: Context, reply: Message, issues: list[dict[str, str]]) -> str:
    """Ask for a note to the model that corrects the contradictions; empty if the model refuses."""
    material = {
        "issues": [issue["text"] for issue in issues],
        "facts": [issue["fact"] for issue in issues if issue["fact"]],
    }
    note = parse_free_text(context.ask.unless_refused("repair", material), MAX_NOTE)
    return context.attributed(note, {"turns": turns_material({reply.index: reply})})


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
    is_divided = context.chat.is_group and context.settings.witnesses_only
    for tier in [Memory.Tier.SESSION] if is_divided else [Memory.Tier.LONG_TERM, Memory.Tier.SESSION]:
        rows = active_memories(context.chat, tier, context.character_id).filter(hidden=False)
        rows = rows.exclude(valid_from=reply).order_by("-pinned", "-importance", "-pk")
        rows = rows.filter(witnessed_by=[]) if is_divided else rows
        memories += rows.values_list("text", flat=True)[:MAX_FACTS]
    summary = None if is_divided else current_version(context.chat, VersionedText.Kind.SUMMARY)
    return [text[:MAX_CARD] for text in [*card, *memories, summary.text if summary else ""] if text.strip()]


@dataclass(frozen=True)
class Contradiction:
    """Contradiction in a reply; ``number`` identifies the contradicted fact, if given."""

    text: str
    number: int | None = None


def parse_contradictions(reply: str) -> ParsedLines[Contradiction]:
    """Parse contradictions. Never raise.

    If there are tagged lines, only these count; otherwise each line that is no heading, unless the first one says
    that nothing is contradicted.
    """
    tagged = parse_lines(reply, _parse_tagged)
    if tagged.items:
        return tagged
    untagged = parse_lines(reply, _parse_untagged)
    clear = any(is_all_clear(item.text) for item in untagged.items[:1])
    if not clear:
        return ParsedLines([item for item in untagged.items if not is_all_clear(item.text)], untagged.unused)
    return ParsedLines([], [*(item.text for item in untagged.items[1:]), *untagged.unused])


def is_check(reply: str) -> bool:
    """Return whether a reply has a tagged line, a JSON object, or says that nothing is contradicted.

    Any other text may be about anything, for instance an opinion of the story.
    """
    return has_lines(reply) or any(is_all_clear(record.text) for record in islice(iter_records(reply), 1))


def is_all_clear(text: str) -> bool:
    """Return whether the first sentence of a text says that nothing is contradicted."""
    match = _FIRST_SENTENCE.match(text)
    first = match[0] if match else ""
    return bool(_ALL_CLEAR.search(first)) and not _NOT_CONSISTENT.search(first) and not _BUT.search(first)


def _parse_tagged(record: Record) -> Contradiction | None:
    match = _TAG.fullmatch(record.tag or "")
    text = clean_line(record.text)
    if match is None or not text or is_all_clear(text):
        return None
    return Contradiction(text, int(match["number"]) if match["number"] else None)


def _parse_untagged(record: Record) -> Contradiction | None:
    if record.tag is not None or is_heading(Line("", record.line, record.line)) or record.line.endswith((":", "：")):
        return None
    text = clean_line(record.text)
    return Contradiction(text) if text else None


def format_contradiction(item: Contradiction) -> str:
    """Return ``item`` formatted so that ``parse_contradictions`` reads it back."""
    number = "" if item.number is None else f":{item.number}"
    return f"[contradiction{number}] {clean_line(item.text)}"


CONTINUITY = Task(
    "continuity",
    _("What a reply contradicts."),
    ("transcript", "facts"),
    max_tokens=300,
    is_usable=is_check,
    words=("contradiction", "contradictions", "conflict"),
    parse=parse_contradictions,
    example={
        "turn": {"number": 16, "speaker": "Mira", "is_user": False, "text": "My brother never set foot in the mill."},
        "facts": [{"number": 1, "text": "Tom lives at the mill."}],
    },
)
REPAIR = Task("repair", _("A note that resolves a contradiction."), ("issues",), ("facts",), max_tokens=200)
TIER = Tier("continuity", run, (CONTINUITY, REPAIR))
