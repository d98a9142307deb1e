"""What the context of a model is filled with: each text of a prompt, what is kept free, and what had no room."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from django.utils.formats import number_format
from django.utils.text import Truncator
from django.utils.translation import gettext, gettext_lazy, ngettext

from apps.common.words import Words
from apps.prompts.assembly.prompt import Prompt
from apps.prompts.lorebooks.lorebook import (
    LORE_AFTER,
    LORE_AFTER_EXAMPLES,
    LORE_AFTER_NOTE,
    LORE_AT_DEPTH,
    LORE_BEFORE,
    LORE_BEFORE_EXAMPLES,
    LORE_BEFORE_NOTE,
)
from apps.prompts.reasons import shown_reasons
from apps.prompts.slots.entries import FilledSlot

BAR_WIDTH = 1000  # in units of the picture
LABEL_LENGTH = 60  # characters of a message that stands alone
SHOWN_LEFT_OUT = 20  # entries of a slot or a lorebook
CHARACTER_CARD, LORE, MEMORY, HISTORY, REPLY, FREE = "card", "lore", "memory", "history", "reply", "free"
GROUP_LABELS: dict[str, Words] = {
    CHARACTER_CARD: gettext_lazy("Card and instructions"),
    LORE: gettext_lazy("Lore"),
    MEMORY: gettext_lazy("Memory"),
    HISTORY: gettext_lazy("History"),
    REPLY: gettext_lazy("Kept for the reply"),
    FREE: gettext_lazy("Free"),
}
PART_LABELS: dict[str, Words] = {
    "system_prompt": gettext_lazy("System prompt"),
    "persona": gettext_lazy("Persona"),
    "description": gettext_lazy("Description"),
    "personality": gettext_lazy("Personality"),
    "scenario": gettext_lazy("Scenario"),
    "examples": gettext_lazy("Examples"),
    "group": gettext_lazy("Who else is present"),
    "authors_note": gettext_lazy("Author’s note"),
    "post_history": gettext_lazy("Post-history instructions"),
    "instruction": gettext_lazy("Instruction"),
    LORE_BEFORE: gettext_lazy("Lore before the card"),
    LORE_AFTER: gettext_lazy("Lore after the card"),
    LORE_BEFORE_EXAMPLES: gettext_lazy("Lore before the examples"),
    LORE_AFTER_EXAMPLES: gettext_lazy("Lore after the examples"),
    LORE_BEFORE_NOTE: gettext_lazy("Lore before the author’s note"),
    LORE_AFTER_NOTE: gettext_lazy("Lore after the author’s note"),
    LORE_AT_DEPTH: gettext_lazy("Lore within the conversation"),
}


@dataclass(frozen=True)
class Piece:
    """A text of the prompt, or tokens without one. ``number`` is its place, 0 for what has no text."""

    group: str
    label: Words
    tokens: int
    number: int = 0
    role: str = ""
    text: str = ""
    slot: FilledSlot | None = None


@dataclass(frozen=True)
class Segment:
    """A part of the bar: a piece, or the messages between two others. ``x`` and ``width`` are in units of the bar."""

    group: str
    label: str
    tokens: int
    pieces: list[Piece]
    x: float
    width: float

    @property
    def number(self) -> int:
        """Return the place of its first text, to link to, or 0."""
        return self.pieces[0].number


@dataclass(frozen=True)
class GroupTotal:
    """The tokens of all pieces of a kind, and the percentage of the context that they take."""

    group: str
    label: Words
    tokens: int
    percent: float


@dataclass(frozen=True)
class LeftOut:
    """What the prompt doesn't have, and why. ``entries`` are the first texts of it, each with its own reason."""

    label: Words
    reason: str
    entries: list[tuple[str, str]]
    more: int = 0


@dataclass(frozen=True)
class ContextMap:
    """The whole context of a model: a bar of ``segments`` in the order of the prompt, and the same as totals."""

    context_tokens: int
    segments: list[Segment]
    totals: list[GroupTotal]
    left_out: list[LeftOut]
    bar_width: int = BAR_WIDTH


def context_map(prompt: Prompt, context_tokens: int, reply_tokens: int, told_messages: int) -> ContextMap:
    """Return what the context is filled with. ``told_messages`` is the number of messages that could stand in it."""
    free = max(context_tokens - reply_tokens - prompt.total_tokens, 0)
    pieces = [
        *_pieces(prompt),
        Piece(REPLY, GROUP_LABELS[REPLY], reply_tokens),
        Piece(FREE, GROUP_LABELS[FREE], free),
    ]
    whole = max(sum(piece.tokens for piece in pieces), 1)
    return ContextMap(
        context_tokens=context_tokens,
        segments=_segments(pieces, whole),
        totals=_totals(pieces, whole),
        left_out=[*_left_out_of_slots(prompt), *_left_out_lore(prompt), *_left_out_history(prompt, told_messages)],
    )


def _pieces(prompt: Prompt) -> Iterator[Piece]:
    """Yield the messages of the prompt with what they are.

    Those of the chat are told by identity: two messages may say the same.
    """
    said = {id(message) for message in prompt.history}
    slots = {item.text: item for item in prompt.slots if item.text}
    parts = {part.text: part.name for part in prompt.parts}
    for number, (message, tokens) in enumerate(zip(prompt.messages or [], prompt.tokens, strict=True), 1):
        text, role = message["content"], message["role"]
        if id(message) in said:
            yield Piece(HISTORY, Truncator(text).chars(LABEL_LENGTH), tokens, number, role, text)
        elif text in slots:
            yield Piece(MEMORY, slots[text].slot.label, tokens, number, role, text, slots[text])
        else:
            name = parts.get(text, "")
            group = LORE if name.startswith("lore_") else CHARACTER_CARD
            yield Piece(group, PART_LABELS.get(name, name), tokens, number, role, text)


def _segments(pieces: Iterable[Piece], whole: int) -> list[Segment]:
    """Return the parts of the bar. Messages in a row are one, since each alone is too narrow to be hit."""
    segments: list[Segment] = []
    x = 0.0
    for key, run in groupby(pieces, key=lambda piece: HISTORY if piece.group == HISTORY else piece):
        row = list(run)
        tokens = sum(piece.tokens for piece in row)
        width = tokens * BAR_WIDTH / whole
        label = str(row[0].label)
        if key == HISTORY and len(row) > 1:
            label = ngettext("%(count)s message", "%(count)s messages", len(row)) % {"count": len(row)}
        if tokens:
            segments.append(Segment(row[0].group, label, tokens, row, round(x, 2), round(width, 2)))
        x += width
    return segments


def _totals(pieces: Iterable[Piece], whole: int) -> list[GroupTotal]:
    tokens = dict.fromkeys(GROUP_LABELS, 0)
    for piece in pieces:
        tokens[piece.group] += piece.tokens
    return [GroupTotal(group, GROUP_LABELS[group], count, 100 * count / whole) for group, count in tokens.items()]


def _left_out_of_slots(prompt: Prompt) -> Iterator[LeftOut]:
    for item in prompt.slots:
        if not item.slot.enabled:
            yield LeftOut(item.slot.label, gettext("Switched off in the settings."), [])
        elif item.trimmed:
            entries = [(entry.written, shown_reasons(entry.why)) for entry in item.left_out[:SHOWN_LEFT_OUT]]
            yield LeftOut(item.slot.label, _over_budget(item), entries, item.trimmed - len(entries))


def _over_budget(item: FilledSlot) -> str:
    words = ngettext(
        "%(count)s entry had no room: all would take %(full)s tokens, and the budget is %(budget)s.",
        "%(count)s entries had no room: all would take %(full)s tokens, and the budget is %(budget)s.",
        item.trimmed,
    )
    return words % {
        "count": item.trimmed,
        "full": number_format(item.full_tokens, force_grouping=True),
        "budget": number_format(item.budget, force_grouping=True),
    }


def _left_out_lore(prompt: Prompt) -> Iterator[LeftOut]:
    if found := prompt.lore.left_out:
        entries = [(item.name or item.text, _tokens(item.tokens)) for item in found[:SHOWN_LEFT_OUT]]
        reason = gettext("Found, but lore takes at most a quarter of the context, or what its book allows.")
        yield LeftOut(GROUP_LABELS[LORE], reason, entries, len(found) - len(entries))


def _left_out_history(prompt: Prompt, told_messages: int) -> Iterator[LeftOut]:
    if (count := told_messages - len(prompt.history)) > 0:
        words = ngettext(
            "%(count)s message isn’t in the prompt: the newest %(kept)s are. Memory stands for what it said.",
            "%(count)s messages aren’t in the prompt: the newest %(kept)s are. Memory stands for what they said.",
            count,
        )
        yield LeftOut(GROUP_LABELS[HISTORY], words % {"count": count, "kept": len(prompt.history)}, [])


def _tokens(count: int) -> str:
    return ngettext("%(count)s token", "%(count)s tokens", count) % {"count": count}
