"""Assemble a prompt: recall for a turn, fill the slots, and place them in the conversation.

Whoever needs a prompt comes here: the chat page and its preview, the API and the proxy.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from apps.chats.models import Character
from apps.prompts.assembly.frame import Frame, PromptPart, frame_of
from apps.prompts.assembly.history import History
from apps.prompts.assembly.placement import insert_slots, place
from apps.prompts.assembly.recalled import recall_for
from apps.prompts.assembly.requests import PromptRequest
from apps.prompts.assembly.states import beginning_of, holding_of, last_state, record, store_state
from apps.prompts.filling.budgets import BudgetStep, context_with_room
from apps.prompts.filling.fill import SlotPlan, plan_for
from apps.prompts.lorebooks.lorebook import Lore
from apps.prompts.models import PromptState, Recall
from apps.prompts.operations import record_lore
from apps.prompts.settings.schema import PromptSettings
from apps.prompts.settings.stores import settings_of
from apps.prompts.slots.definitions import EPISTEMIC
from apps.prompts.slots.entries import FilledSlot
from apps.prompts.turns import UserTurn, find_turn
from apps.prompts.witnessing import speaker_or_default

MACRO_FIELDS = ("system_prompt", "description", "personality", "scenario", "mes_example")  # of a character card


@dataclass(frozen=True)
class PromptMemory:
    """What is remembered in a prompt, in its slots.

    ``recall`` is None if nothing was recalled. ``macros`` are the texts of all macros by name. ``unified`` is the text
    of the one block, or None in other modes. The first ``stable_tokens`` are the same as in the last prompt of the
    chat for this character. ``budget_steps`` tell which rules made the budgets.
    """

    slots: list[FilledSlot]
    recall: Recall | None
    turn_class: str
    macros: Mapping[str, str]
    unified: str | None
    stable_tokens: int
    budget_steps: Sequence[BudgetStep]

    @property
    def total_tokens(self) -> int:
        return sum(item.tokens for item in self.slots)


@dataclass(frozen=True)
class Prompt:
    """A prompt for one call of a model: memory, and as far as they were asked for conversation and frame.

    ``messages`` are None if the caller has the conversation, ``tokens`` those of each message. ``history`` are the
    messages that were said in the chat. The first ``stable_tokens`` are as in the last prompt for this speaker, so that
    a provider's cache may have them.
    """

    memory: PromptMemory
    messages: list[dict[str, str]] | None
    tokens: list[int]
    history: list[dict[str, str]]
    frame: Frame
    stable_tokens: int

    @property
    def slots(self) -> list[FilledSlot]:
        return self.memory.slots

    @property
    def recall(self) -> Recall | None:
        return self.memory.recall

    @property
    def turn_class(self) -> str:
        return self.memory.turn_class

    @property
    def macros(self) -> Mapping[str, str]:
        return self.memory.macros

    @property
    def unified(self) -> str | None:
        return self.memory.unified

    @property
    def parts(self) -> list[PromptPart]:
        """Return the fixed texts."""
        return [part for part in self.frame.parts if part.text]

    @property
    def names(self) -> Mapping[str, str]:
        """Return the values of the macros for names."""
        return self.frame.names

    @property
    def lore(self) -> Lore:
        """Return the lorebook entries that were found."""
        return self.frame.lore

    @property
    def total_tokens(self) -> int:
        return sum(self.tokens)

    @property
    def counted_messages(self) -> list[dict[str, str | int]]:
        messages = self.messages or []
        return [message | {"tokens": tokens} for message, tokens in zip(messages, self.tokens, strict=True)]


def assemble(request: PromptRequest) -> Prompt:
    """Return the prompt that is asked for, and store what was recalled for its turn.

    Raise Invalid for a context that the newest message or the card doesn't fit, or, of a whole prompt, for a character
    who isn't in the group.
    """
    chat, reply = request.chat, request.reply
    speaker = speaker_or_default(chat, request.character)
    count = request.count
    frame = frame_of(request, speaker, count)
    room = request.room - frame.tokens
    turn = replace(find_turn(chat, request.text, speaker), is_previewed=not request.leave_trace)
    history = History(turn, count, character=speaker, skipped=int(request.again))
    settings = _settings_for(request)
    state = last_state(chat, speaker)
    plan = _plan(request, settings, turn, history, state, room)
    recalled = recall_for(turn, speaker, plan, request)
    placed = place(recalled.slots, settings, _texts_with_macros(request, speaker, frame), count)
    frame, unresolved = frame.with_memory(placed.macros, count), frame.tokens
    rest = room + unresolved - frame.tokens - sum(item.tokens for item in placed.slots)
    spoken = history.within(rest) if reply or request.has_history else []
    messages = frame.around(insert_slots(placed.slots, spoken), spoken)
    tokens = [count(message["content"]) for message in messages]
    remembered = insert_slots(placed.slots, []) if reply else messages
    beginning = beginning_of(state, remembered, messages if reply else None, request.reader)
    stable = sum(count(message["content"]) for message in remembered[: beginning.unchanged])
    if request.leave_trace:
        record(chat, recalled.slots)
        store_state(state, beginning, plan, recalled.fitted)
        if reply:
            record_lore(turn, [item.document for item in frame.lore.texts])
    memory = PromptMemory(
        slots=placed.slots,
        recall=recalled.recall,
        turn_class=turn.turn_class,
        macros=placed.macros,
        unified=placed.unified,
        stable_tokens=stable,
        budget_steps=plan.steps,
    )
    return Prompt(
        memory,
        messages=messages if reply or request.has_history else None,
        tokens=tokens,
        history=spoken,
        frame=frame,
        stable_tokens=sum(tokens[: beginning.whole_unchanged]) if reply else stable,
    )


def _settings_for(request: PromptRequest) -> PromptSettings:
    """Return the settings of the prompt. What the character hides is not told to who writes for the user."""
    settings = request.settings or settings_of(request.chat)
    if not (request.reply and request.reply.for_user):
        return settings
    slot = replace(settings.slots[EPISTEMIC.name], enabled=False)
    return replace(settings, slots={**settings.slots, EPISTEMIC.name: slot})


def _plan(
    request: PromptRequest, settings: PromptSettings, turn: UserTurn, history: History, state: PromptState, room: int
) -> SlotPlan:
    """Return the plan of the slots, which share ``room`` tokens with the conversation."""

    def shown_beside(used: int) -> Collection[UUID]:
        return history.ids_within(room - used) if has_history else request.sent or ()

    holding = holding_of(state, turn, settings)
    has_history = request.reply is not None or request.has_history
    shown = shown_beside if has_history or request.sent is not None else None
    context = room
    if request.reply:
        # The newest message goes before what is remembered: without it there is no prompt.
        context = max(room - history.newest_tokens(), 1)
    elif request.has_history:
        context = context_with_room(room, room - history.newest_tokens())
    plan = plan_for(request.chat, state.character, turn.turn_class, settings, context, request.count)
    return replace(plan, holding=holding, shown=shown)


def _texts_with_macros(request: PromptRequest, speaker: Character | None, frame: Frame) -> Iterable[str]:
    """Return the texts in which macros of memory may stand. A client that sends its own card looks at that itself."""
    fields = MACRO_FIELDS if speaker and request.sent is None else ()
    return [*(getattr(speaker, name) for name in fields), *request.texts, *(part.text for part in frame.parts)]
