"""Consolidation: merge similar memories of a kind once enough of them are new."""

from collections import Counter
from collections.abc import Mapping, Sequence

from apps.english.words import content_words, jaccard
from apps.extraction.parsers.merges import MergeLine, parse_merges
from apps.extraction.settings.schema import Settings
from apps.extraction.stages.context import NO_OUTCOME, Context, StageOutcome, Window
from apps.extraction.stages.extraction import KINDS
from apps.llm.generation import GenerationFailed
from apps.memories.models import Memory
from apps.memories.operations.merging import mark_consolidated, merge_memories
from apps.memories.queries.memories import active_memories

MAX_ENTRIES = 40  # entries of a kind shown to the model together
MIN_TOKENS, TOKENS_PER_ENTRY = 400, 60
MIN_MEMBER_OVERLAP = 0.2  # minimum Jaccard index of a merged text with one of its members


def run_session(context: Context, window: Window) -> StageOutcome:
    """Merge session memories. Reads memories only, not the window."""
    return _run(context, Memory.Tier.SESSION)


def run_long_term(context: Context, window: Window) -> StageOutcome:
    """Merge long-term memories. Reads memories only, not the window."""
    return _run(context, Memory.Tier.LONG_TERM)


def _run(context: Context, tier: str) -> StageOutcome:
    merges: list[tuple[list[Memory], str]] = []
    shown: list[Memory] = []
    unused: list[str] = []
    for kind in KINDS[tier]:
        entries = _entries(context, tier, kind)
        if sum(not entry.consolidated for entry in entries) >= threshold(context.settings, kind):
            groups, lines = _ask_for_merges(context, tier, kind, entries)
            merges += groups
            unused += lines
            shown += entries
    if not shown:
        return NO_OUTCOME

    def write() -> Counter[str]:
        count = sum(merge_memories(context.chat, members, text, run_id=context.run.pk) for members, text in merges)
        mark_consolidated(context.owner_id, [entry for entry in shown if entry.chat_id == context.chat.pk])
        return Counter(merged=count)

    return StageOutcome(write, unused)


def threshold(settings: Settings, kind: str) -> int:
    """Return the number of new entries of a kind that starts a merge."""
    value: int = getattr(settings, f"consolidate_{kind}", settings.consolidate_session)
    return value


def _entries(context: Context, tier: str, kind: str) -> list[Memory]:
    """Return at most MAX_ENTRIES entries to merge, preferring new ones, without pinned and edited ones.

    Only what the chat learnt or inherited is merged: a merge with a memory of another story would tell it to the
    branches of this one. What a branch inherited is not new to it.
    """
    character_id = context.character.pk if context.character else None
    rows = active_memories(context.chat, tier, character_id).filter(kind=kind, pinned=False, edited_by="")
    rows = rows.learnt_in(context.chat).defer("embedding", "lexemes")
    entries = list(rows.order_by("consolidated", "-pk")[:MAX_ENTRIES])[::-1]
    for entry in entries:
        entry.consolidated = entry.consolidated or entry.chat_id != context.chat.pk
    return entries


def _ask_for_merges(
    context: Context, tier: str, kind: str, entries: Sequence[Memory]
) -> tuple[list[tuple[list[Memory], str]], list[str]]:
    """Ask for merges. Return groups of entries with their merged text, and the unusable lines of the reply."""
    numbered = dict(enumerate(entries, 1))
    material = {
        "tier": tier,
        "kind": kind,
        "entries": [
            {"number": number, "text": entry.text, "consolidated": entry.consolidated}
            for number, entry in numbered.items()
        ],
    }
    try:
        reply = context.ask("consolidate", material, max_tokens=max(MIN_TOKENS, TOKENS_PER_ENTRY * len(entries)))
    except GenerationFailed:
        return [], []  # tried again once there are more new entries
    parsed = parse_merges(reply)
    groups: list[tuple[list[Memory], str]] = []
    merged: set[int] = set()
    unused = list(parsed.unused)
    for line in parsed.items:
        if _is_usable(line, numbered, merged):
            merged |= set(line.numbers)
            groups.append(([numbered[number] for number in line.numbers], line.text))
        else:
            unused.append(line.text)
    return groups, unused


def _is_usable(line: MergeLine, entries: Mapping[int, Memory], merged: set[int]) -> bool:
    """Return whether a line names at least two entries that are shown and not yet merged, and is about them."""
    numbers = set(line.numbers)
    if len(numbers) < 2 or not numbers <= entries.keys() or numbers & merged:
        return False
    if len({tuple(entries[number].witnessed_by) for number in numbers}) > 1:
        return False  # the merged text would tell a witness of one entry what only the other entry says
    known = frozenset[str]().union(*(content_words(entries[number].text) for number in numbers))
    words = content_words(line.text)
    return bool(words & known) and any(jaccard(line.text, entries[n].text) >= MIN_MEMBER_OVERLAP for n in numbers)
