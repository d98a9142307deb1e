"""Place filled slots: at their positions in the conversation, in one block, or where a macro names them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from apps.chats.macros import macros_in, resolve_macros
from apps.prompts.filling.fitting import CountFunction, fit
from apps.prompts.settings.schema import BY_MACROS, ONE_BLOCK, PromptSettings
from apps.prompts.slots.blocks import SEPARATOR_TOKENS, join_blocks
from apps.prompts.slots.definitions import IN_PROMPT, MACROS, UNIFIED, UNIFIED_ORDER
from apps.prompts.slots.entries import FilledSlot


@dataclass(frozen=True)
class Placement:
    """All slots with the texts that stand at their positions, the texts of the macros, and that of the one block."""

    slots: list[FilledSlot]
    macros: dict[str, str]
    unified: str | None


@dataclass(frozen=True)
class _Block:
    written: str
    priority: float


def place(
    filled: Sequence[FilledSlot], settings: PromptSettings, texts: Iterable[str], count: CountFunction
) -> Placement:
    """Place the slots by the settings. ``texts`` are the fields of the card, in which macros are looked for.

    A slot whose macro is active has its text there alone. In the mode "macros", slots without an active macro stand
    nowhere. In unified mode only the macro of the one block can be active.
    """
    slots = [*filled, FilledSlot(settings.slots[UNIFIED.name], "", 0, 0, 0, settings.slots[UNIFIED.name].budget)]
    is_unified = settings.mode == ONE_BLOCK
    if is_unified:
        slots = _united(slots, count)
    macros = {item.slot.macro: item.text for item in slots if item.slot.macro}
    if is_unified:
        macros |= {macro: "" for macro in MACROS if macro != UNIFIED.macro}
    active = set(MACROS) if settings.force_macros else macros_in(texts)
    if is_unified:
        active &= {UNIFIED.macro}
    by_macros = settings.mode == BY_MACROS
    placed = [
        _emptied(item) if item.slot.macro and (by_macros or item.slot.macro in active) else item for item in slots
    ]
    return Placement(placed, macros, macros[UNIFIED.macro] if is_unified else None)


def _united(slots: Sequence[FilledSlot], count: CountFunction) -> list[FilledSlot]:
    """Move the texts of the slots in UNIFIED_ORDER into the one block. Drop whole texts from its end if it is full.

    The block has room for all of its parts, of which only a text that a person edited exceeds its budget. That is never
    dropped, also where the block's template takes the room.
    """
    by_name = {item.slot.name: item for item in slots}
    unified = by_name[UNIFIED.name]
    parts = [by_name[slot.name] for slot in UNIFIED_ORDER if by_name[slot.name].text] if unified.slot.enabled else []
    blocks = [_Block(item.text, (len(parts) if item.edited else 0) - number) for number, item in enumerate(parts)]

    def render(lines: Sequence[str]) -> str:
        text = join_blocks(lines)
        return resolve_macros(unified.slot.template, {"entries": text}).strip() if text else ""

    edited = count(render([item.text for item in parts if item.edited]))
    room = max(unified.budget, sum(item.room + SEPARATOR_TOKENS for item in parts), edited)
    fitted = fit(blocks, room, render, count)
    merged = replace(
        unified,
        text=fitted.text,
        tokens=fitted.tokens,
        full_tokens=fitted.full_tokens,
        trimmed=fitted.trimmed,
        edited=any(item.edited for item in parts),
    )
    names = {slot.name for slot in UNIFIED_ORDER}
    others = [_emptied(item) if item.slot.name in names else item for item in slots[:-1]]
    return [*others, merged]


def _emptied(item: FilledSlot) -> FilledSlot:
    return replace(item, text="", tokens=0)


def insert_slots(slots: Sequence[FilledSlot], history: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return the history with the non-empty slots inserted before it, by depth, or within it, at their depth."""
    filled = [slot for slot in slots if slot.text]
    in_prompt = [item for item in filled if item.slot.position == IN_PROMPT]
    messages = [_slot_message(item) for item in sorted(in_prompt, key=lambda item: item.slot.depth)]
    in_chat = [item for item in filled if item.slot.position != IN_PROMPT]
    for position in range(len(history) + 1):
        messages_after = len(history) - position
        messages += [_slot_message(item) for item in in_chat if min(item.slot.depth, len(history)) == messages_after]
        messages += history[position : position + 1]
    return messages


def _slot_message(filled: FilledSlot) -> dict[str, str]:
    return {"role": filled.slot.role, "content": filled.text}
