"""A tier like those of ``apps/extraction/tiers``: who was given what, kept as the owners of things in the ledger."""

from collections import Counter
from pathlib import Path

from apps.extraction.parsers.records import ParsedLines, Record, has_lines, parse_lines
from apps.extraction.prompts.task import Task
from apps.extraction.steps.asking import Answer
from apps.extraction.steps.context import Context, StageOutcome, Window, turns_material
from apps.extraction.steps.turns import source_of
from apps.extraction.tier import Form, Tier
from apps.memories.candidates import StateLine
from apps.memories.operations.ledger import write_states


def run(context: Context, window: Window) -> StageOutcome:
    """Ask for gifts, and store who owns them."""
    return run_from_reading(context, window, context.ask.answer("gifts", {"turns": turns_material(window.turns)}))


def run_from_reading(context: Context, window: Window, answer: Answer) -> StageOutcome:
    """Store who owns the gifts of a reply."""
    parsed = parse_gifts(answer.text)
    lines = [(gift, window.turns[source_of(gift.name, window.turns)]) for gift in parsed.items]
    return StageOutcome([lambda: Counter(gifts=write_states(context.chat, lines, context.run.pk))], parsed.unused)


def parse_gifts(reply: str) -> ParsedLines[StateLine]:
    """Parse lines such as ``[gift:Oswin] a brass lamp``."""
    return parse_lines(reply, _gift)


def _gift(record: Record) -> StateLine | None:
    word, _, owner = (record.tag or "").partition(":")
    return StateLine(record.text, "object", {"owner": owner}) if word == "gift" and owner and record.text else None


GIFTS = Task(
    "gifts",
    "What people are given.",
    ("transcript",),
    is_usable=has_lines,
    words=("gift", "gifts"),
    parse=parse_gifts,
    folder=Path(__file__).parent,
)
TIER = Tier("gifts", run, (GIFTS,), forms=(Form("gifts", GIFTS),), from_reading=run_from_reading)
