"""Consolidation: merge similar memories of a kind once enough of them are new."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from apps.english.words import content_words, jaccard
from apps.extraction.memories.lines import KINDS
from apps.extraction.parsers.records import ParsedLines, Record, has_lines, parse_lines, parse_numbers
from apps.extraction.parsers.text_cleanup import clean_line
from apps.extraction.prompts.task import Task
from apps.extraction.settings.schema import Settings
from apps.extraction.steps.context import NO_OUTCOME, Context, StageOutcome
from apps.extraction.steps.dictation import is_dictated
from apps.memories.models import Memory
from apps.memories.operations.memories import vectors_of
from apps.memories.operations.merging import mark_consolidated, merge_memories
from apps.memories.queries.memories import active_memories
from apps.memories.quotations import quoted_speaker
from apps.memories.visibility import MemoryQuerySet

MAX_ENTRIES = 40  # entries of a kind shown to the model together
MIN_TOKENS, TOKENS_PER_ENTRY = 400, 60
MIN_MEMBER_OVERLAP = 0.2  # minimum Jaccard index of a merged text with one of its members
Merge = tuple[list[Memory], str]  # the members and their merged text
MAX_MEMBERS = 50
_TAG = re.compile(
    r"(?P<word>merged?|merges|consolidated?)?[\s:=#(*_`]*(?P<numbers>\d(?:[\d\s,;#&+–-]|and)*)[)*_`\s]*", re.I
)


@dataclass(frozen=True)
class MergeLine:
    """Text that replaces the entries with these numbers."""

    numbers: tuple[int, ...]
    text: str


def run(context: Context, tier: str) -> StageOutcome:
    """Merge memories of a tier. Reads memories only, no window."""
    groups = due_entries(context, tier)
    merges: list[Merge] = []
    unused: list[str] = []
    for entries in groups:
        material = {"tier": tier, "kind": entries[0].kind, "entries": entries_material(entries)}
        limit = max(MIN_TOKENS, TOKENS_PER_ENTRY * len(entries))
        # If the model refuses, it is asked again about later entries.
        reply = context.ask.unless_refused("consolidate", material, max_tokens=limit)
        found, lines = merges_from(reply, entries, [entries])
        merges += found
        unused += lines
    return outcome_of_merges(context, merges, groups, unused)


def outcome_of_merges(
    context: Context, merges: Sequence[Merge], groups: Sequence[Sequence[Memory]], unused: Sequence[str]
) -> StageOutcome:
    """Return the outcome of asking for merges of groups of entries."""
    if not groups:
        return NO_OUTCOME

    vectors = vectors_of(context.owner_id, [text for _, text in merges])  # nothing is locked yet

    def write() -> Counter[str]:
        count = sum(
            merge_memories(context.chat, members, text, run_id=context.run.pk, vector=vector)
            for (members, text), vector in zip(merges, vectors, strict=True)
        )
        shown = [entry for entries in groups for entry in entries if entry.chat_id == context.chat.pk]
        mark_consolidated(context.owner_id, shown)
        return Counter(merged=count)

    return StageOutcome([write], unused)


def due_entries(context: Context, tier: str) -> list[list[Memory]]:
    """Return the entries of each kind of which enough are new to be merged."""
    rows = _mergeable(context, tier).filter(chat=context.chat, consolidated=False)
    new = Counter(rows.values_list("kind", flat=True))
    # Mostly none are due: then one query tells.
    due = [kind for kind in KINDS[tier] if new[kind] >= threshold(context.settings, kind)]
    groups = [_entries(context, tier, kind) for kind in due]
    return [
        entries
        for entries in groups
        if entries and sum(not entry.consolidated for entry in entries) >= threshold(context.settings, entries[0].kind)
    ]


def threshold(settings: Settings, kind: str) -> int:
    """Return the number of new entries of a kind that starts a merge."""
    value: int = getattr(settings, f"consolidate_{kind}", settings.consolidate_session)
    return value


def _mergeable(context: Context, tier: str) -> MemoryQuerySet:
    """Return the memories that may be merged, without pinned, edited and expiring ones.

    Only what the chat learnt or inherited is merged: a merge with a memory of another story would tell it to the
    branches of this one.
    """
    rows = active_memories(context.chat, tier, context.character_id).filter(pinned=False, edited_by="")
    return rows.filter(expires_at=None).learnt_in(context.chat)


def _entries(context: Context, tier: str, kind: str) -> list[Memory]:
    """Return at most MAX_ENTRIES entries to merge, preferring new ones. What a branch inherited is not new to it."""
    rows = _mergeable(context, tier).filter(kind=kind).defer("embedding", "lexemes")
    entries = list(rows.order_by("consolidated", "-pk")[:MAX_ENTRIES])[::-1]
    for entry in entries:
        entry.consolidated = entry.consolidated or entry.chat_id != context.chat.pk
    return entries


def entries_material(entries: Sequence[Memory], first: int = 1) -> list[dict[str, Any]]:
    """Return entries as the template values of prompts, numbered from ``first`` on."""
    return [
        {"number": number, "text": entry.text, "consolidated": entry.consolidated}
        for number, entry in enumerate(entries, first)
    ]


def merges_from(
    reply: str, entries: Sequence[Memory], groups: Sequence[Sequence[Memory]]
) -> tuple[list[Merge], list[str]]:
    """Return the merges of a reply about ``entries``, numbered from 1, and its unusable lines.

    Entries of different ``groups`` are never merged.
    """
    numbered = dict(enumerate(entries, 1))
    group_of = {entry.pk: number for number, group in enumerate(groups) for entry in group}
    parsed = parse_merges(reply)
    merges: list[Merge] = []
    merged: set[int] = set()
    unused = list(parsed.unused)
    for line in parsed.items:
        if _is_usable(line, numbered, merged) and len({group_of[numbered[n].pk] for n in line.numbers}) == 1:
            merged |= set(line.numbers)
            merges.append(([numbered[number] for number in line.numbers], line.text))
        else:
            unused.append(line.text)
    return merges, unused


def _is_usable(line: MergeLine, entries: Mapping[int, Memory], merged: set[int]) -> bool:
    """Return whether a line names at least two entries that are shown and not yet merged, and is about them."""
    numbers = set(line.numbers)
    if len(numbers) < 2 or not numbers <= entries.keys() or numbers & merged:
        return False
    if len({tuple(entries[number].witnessed_by) for number in numbers}) > 1:
        return False  # the merged text would tell a witness of one entry what only the other entry says
    if not quoted_speaker(line.text) and any(_repeats_quotation(line.text, entries[n].text) for n in numbers):
        return False  # what somebody said would stand there as a statement of its own
    known = frozenset[str]().union(*(content_words(entries[number].text) for number in numbers))
    words = content_words(line.text)
    return bool(words & known) and any(jaccard(line.text, entries[n].text) >= MIN_MEMBER_OVERLAP for n in numbers)


def _repeats_quotation(text: str, entry: str) -> bool:
    return bool(quoted_speaker(entry)) and is_dictated(text, entry)


def parse_merges(reply: str) -> ParsedLines[MergeLine]:
    """Parse merges. Never raise. The caller checks that the numbers exist."""
    return parse_lines(reply, _merge)


def _merge(record: Record) -> MergeLine | None:
    match = _TAG.fullmatch(record.tag or "")
    text = clean_line(record.text)
    if match is None or not text:
        return None
    numbers = parse_numbers(match["numbers"])[:MAX_MEMBERS]
    return MergeLine(numbers, text) if match["word"] or len(numbers) > 1 else None


def format_merge(line: MergeLine) -> str:
    """Return ``line`` formatted so that ``parse_merges`` reads it back."""
    return f"[merge:{','.join(map(str, line.numbers))}] {clean_line(line.text)}"


CONSOLIDATE = Task(
    "consolidate",
    _("Merges of memories that say the same."),
    ("entries",),
    ("kind",),
    is_usable=has_lines,
    words=("merge", "merged", "merges"),
    parse=parse_merges,
)
