"""Summary: extend it before unsummarised messages outgrow the model's context."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.translation import gettext_lazy as _

from apps.chats.models import Message
from apps.extraction.parsers.free_text import truncate, unwrap_paragraphs
from apps.extraction.parsers.text_cleanup import clean_reply, strip_fences, strip_html
from apps.extraction.prompts import examples
from apps.extraction.prompts.task import Task
from apps.extraction.steps.context import NO_OUTCOME, Context, StageOutcome, Window, turns_material
from apps.extraction.steps.texts import text_outcome
from apps.extraction.steps.turns import fitting
from apps.extraction.tier import Tier
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory, VersionedText
from apps.memories.operations.texts import NewVersion
from apps.memories.queries.memories import active_memories
from apps.memories.queries.texts import current_version

MIN_MESSAGES = 4
MAX_KNOWN_MEMORIES = 30  # memories shown to the model, which the summary need not repeat
SECTIONS = {
    1: "Scene and setting",
    2: "Who is present",
    3: "Key events",
    4: "Relationships",
    5: "What was revealed",
    6: "Open threads",
    7: "What the user wants",
    8: "The current moment",
    9: "What comes next",
}
MAX_SUMMARY = 20_000  # characters
MAX_SECTION = 4000
_INDENT = "   "  # indents continuation lines, so that a numbered list isn't parsed as sections
_ANALYSIS = re.compile(r"<\s?(?P<close>/?)\s?analysis\s?>", re.IGNORECASE)
_MARKER = re.compile(r"[*_`]{0,3}[\[<［【]\s?(?P<close>/?)\s?summary\s?[\]>］】][*_`]{0,3}", re.IGNORECASE)
_HEADING = re.compile(r"^(?:> ?)?(?:#{1,6} +)?[*_]{0,2}(?P<number>[1-9])[.)](?=[\s*_]|$)", re.MULTILINE)
_LABEL = re.compile(r"\s*(?P<label>(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)|[^:.\n]{1,60})(?P<end>:[*_]{0,2}|[ \t]*\n|\Z|)")


def run(context: Context, window: Window) -> StageOutcome:
    """Extend the summary with the oldest unsummarised messages once those fill the context.

    One batch per step is enough, since a window is no longer than a batch.
    """
    current = current_version(context.chat, VersionedText.Kind.SUMMARY)
    unsummarised = _unsummarised(context, current, window.messages[-1].index)
    limit = context.settings.summary_share * (context.backend.context_tokens - context.settings.summary_tokens)
    if len(unsummarised) < MIN_MESSAGES or sum(count_tokens(turn.mes) for turn in unsummarised.values()) < limit:
        return NO_OUTCOME
    batch = _oldest_fitting(context, unsummarised)
    if not batch:
        return NO_OUTCOME
    memories = active_memories(context.chat, Memory.Tier.SESSION, None).order_by("-importance", "-pk")
    known = list(memories.values_list("text", flat=True)[:MAX_KNOWN_MEMORIES])
    material = {"summary": current.text if current else "", "turns": turns_material(batch), "known": known}
    reply = context.ask("summary", material, max_tokens=context.settings.summary_tokens)
    summary = parse_summary(reply)
    if not summary.text:
        return StageOutcome(unused=[reply[:1000]])
    last = batch[max(batch)]

    new = NewVersion(
        text=context.attributed(summary.text, material),
        parts={
            "sections": {str(number): text for number, text in summary.sections.items()},
            "messages": last.index + 1,
        },
        last=last,
    )
    return text_outcome(context, VersionedText.Kind.SUMMARY, current, new, counted_as="summary")


def _unsummarised(context: Context, current: VersionedText | None, last: int) -> dict[int, Message]:
    """Return the turns after those in the summary, up to index ``last``."""
    first = current.source.index + 1 if current and current.source else 0
    rows = Message.objects.for_owner(context.owner_id).filter(chat=context.chat, index__gte=first, index__lte=last)
    return Window(list(rows.remembered().with_swipes().order_by("index"))).turns


def _oldest_fitting(context: Context, unsummarised: dict[int, Message]) -> dict[int, Message]:
    """Return the oldest turns that fit into a prompt, without the newest ones, which are never summarised."""
    old = list(unsummarised.items())[: -context.settings.summary_keep]
    # At least one, however long, so that the summary gets on.
    return dict(fitting(old, context.token_budget, lambda item: count_tokens(item[1].mes)) or old[:1])


@dataclass(frozen=True)
class Summary:
    """Whole text of a summary, and its sections by number."""

    sections: dict[int, str] = field(default_factory=dict)
    text: str = ""


def parse_summary(reply: str) -> Summary:
    """Parse a summary. Never raise. Return an empty summary if the tags and the first section are missing.

    A missing closing tag is tolerated. An ``<analysis>`` before the summary is dropped, closed or not.
    """
    text = strip_fences(_strip_analysis(clean_reply(reply)))
    body = _between_markers(text)
    if body is None:
        first = next((match for match in _HEADING.finditer(text) if match["number"] == "1"), None)
        body = text[first.start() :] if first else ""
    body = strip_html(body).strip()
    lines = (line.rstrip() for line in body.split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return Summary(_sections(body), truncate(text, MAX_SUMMARY))


def _strip_analysis(text: str) -> str:
    """Remove the text between analysis tags; an analysis that is never closed ends at the summary's tag."""
    kept: list[str] = []
    start, inside = 0, False
    for match in _ANALYSIS.finditer(text):
        if not inside and not match["close"]:
            kept.append(text[start : match.start()])
        inside, start = not match["close"], match.end()
    rest = text[start:]
    marker = _MARKER.search(rest) if inside else None
    kept.append(rest if not inside else rest[marker.start() :] if marker else "")
    return "".join(kept)


def _between_markers(text: str) -> str | None:
    """Return the longest text from an opening tag to the next tag, or None without an opening tag."""
    markers = list(_MARKER.finditer(text))
    ends = [*(match.start() for match in markers[1:]), len(text)][: len(markers)]
    bodies = [text[match.end() : end] for match, end in zip(markers, ends, strict=True) if not match["close"]]
    return max(bodies, key=len, default=None)


def _sections(text: str) -> dict[int, str]:
    """Return the sections by number.

    Numbers must rise: a number not above the last section's belongs to a list within that section.
    """
    headings: list[re.Match[str]] = []
    for match in _HEADING.finditer(text):
        if not headings or int(match["number"]) > int(headings[-1]["number"]):
            headings.append(match)
    ends = [*(match.start() for match in headings[1:]), len(text)][: len(headings)]
    sections = {
        int(match["number"]): _section_text(int(match["number"]), text[match.end() : end])
        for match, end in zip(headings, ends, strict=True)
    }
    return {number: section for number, section in sections.items() if section}


def _section_text(number: int, text: str) -> str:
    """Return a section's text without its title or a title in bold."""
    match = _LABEL.match(text)
    label = match["label"].strip("*_ \t").rstrip(":").lower() if match else ""
    if match and (label == SECTIONS[number].lower() or match["label"].startswith(("**", "__"))):
        text = text[match.end() :].removeprefix("**").removeprefix("__").lstrip(": \t")
    return truncate(unwrap_paragraphs(text), MAX_SECTION)


def format_summary(sections: Mapping[int, str]) -> str:
    """Return the sections formatted so that ``parse_summary`` reads them back."""
    texts = {number: strip_html(clean_reply(text)).strip() for number, text in sorted(sections.items())}
    lines = [f"{number}. {SECTIONS[number]}: {text}".replace("\n", f"\n{_INDENT}") for number, text in texts.items()]
    return "\n".join(["[SUMMARY]", *lines, "[/SUMMARY]"])


SUMMARY = Task(
    "summary",
    _("The story so far, in nine sections."),
    ("summary", "transcript"),
    ("known",),
    example={"known": examples.MEMORY_TEXTS},
)
TIER = Tier("summary", run, (SUMMARY,))  # without a form: most windows need none, and it is long
