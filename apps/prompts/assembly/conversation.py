"""The messages of a prompt: the newest of the chat within a token budget, the filled slots among them, and the frame.

Slots stand at their positions in the conversation, in one block, or where a macro names them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from apps.chats.macros import macros_in, resolve_macros
from apps.chats.models import Character, Chat
from apps.common.problems import Invalid
from apps.common.stored_texts import gettext_stored
from apps.prompts.assembly.frame import Frame
from apps.prompts.filling.fill import fit
from apps.prompts.filling.plan import CountFunction
from apps.prompts.settings.schema import BY_MACROS, ONE_BLOCK, PromptSettings
from apps.prompts.slots.blocks import SEPARATOR_TOKENS, join_blocks
from apps.prompts.slots.definitions import IN_PROMPT, MACROS, UNIFIED, UNIFIED_ORDER
from apps.prompts.slots.entries import FilledSlot
from apps.prompts.turns import UserTurn, spoken_turns_newest_first


class HistoryItem(NamedTuple):
    """A message of a prompt, its tokens, and its id, None for a turn that is not yet sent."""

    message: dict[str, str]
    tokens: int
    id: UUID | None


class History:
    """The turn, if it is unsent, and the visible messages of its chat but ``skipped``; a prompt has the newest.

    In a group, only those that the character witnessed. They are read and counted once, and no further than asked for.
    """

    def __init__(
        self, turn: UserTurn, count: CountFunction, *, character: Character | None = None, skipped: int = 0
    ) -> None:
        self._count = count
        self._unread = _newest_first(turn, character, skipped)
        self._items: list[HistoryItem] = []

    def newest_tokens(self) -> int:
        """Return the tokens of the newest message, without which there is no prompt."""
        return next((item.tokens for item in self._newest_first()), 0)

    def within(self, budget: int) -> list[dict[str, str]]:
        """Return the newest messages, oldest first, with at most ``budget`` tokens together.

        Raise Invalid if the newest one alone has more.
        """
        if self.newest_tokens() > budget:
            detail = gettext_stored(
                "The last message alone has %(tokens)s tokens, and the rest of the prompt leaves it %(budget)s.",
                tokens=self.newest_tokens(),
                budget=max(budget, 0),
            )
            raise Invalid.at("/context_tokens", detail)
        return [item.message for item in self._fitting(budget)][::-1]

    def ids_within(self, budget: int) -> set[UUID]:
        """Return the ids of the newest messages with at most ``budget`` tokens together."""
        return {item.id for item in self._fitting(budget) if item.id}

    def _fitting(self, budget: int) -> Iterator[HistoryItem]:
        for item in self._newest_first():
            budget -= item.tokens
            if budget < 0:
                return
            yield item

    def _newest_first(self) -> Iterator[HistoryItem]:
        yield from self._items
        for message, pk in self._unread:
            item = HistoryItem(message, self._count(message["content"]), pk)
            self._items.append(item)
            yield item


def _newest_first(
    turn: UserTurn, character: Character | None, skipped: int
) -> Iterator[tuple[dict[str, str], UUID | None]]:
    """Yield the turn, if it is unsent, and then the visible messages of the chat with their ids, newest first.

    Blank ones are left out: servers refuse a request with a message that says nothing.
    """
    chat = turn.chat
    if turn.message is None and turn.text.strip():
        yield {"role": "user", "content": _spoken(chat, chat.user_name, turn.text)}, None
    count = turn.index + 1 if turn.message else 0
    for message in spoken_turns_newest_first(chat, character, skipped=skipped, count=count):
        if not message.mes.strip():
            continue
        content = _spoken(chat, message.name, message.mes)
        yield {"role": "user" if message.is_user else "assistant", "content": content}, message.id


def _spoken(chat: Chat, name: str, text: str) -> str:
    """Return the text of a message, in a group after the speaker's name: a role doesn't tell who of them speaks."""
    return f"{name}: {text}" if chat.is_group and name else text


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


@dataclass(frozen=True)
class Contents:
    """The messages of a prompt, each with its tokens: the slots, the history, and the frame with the macros of memory.

    ``remembered`` are those of a whole prompt that tell what is remembered, of another prompt all.
    """

    placed: Placement
    frame: Frame
    history: list[dict[str, str]]
    messages: list[dict[str, str]]
    tokens: list[int]
    remembered: list[dict[str, str]]
