"""Assemble a prompt: recall for a turn, fill the slots, and place them in the conversation.

Whoever needs a prompt comes here: the chat page and its preview, the API and the proxy.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from apps.chats.models import Character
from apps.prompts.assembly.frame import Frame, PromptPart, frame_of
from apps.prompts.assembly.history import History
from apps.prompts.assembly.placement import Placement, insert_slots, place
from apps.prompts.assembly.recalled import Recalled, recall_for
from apps.prompts.assembly.requests import PromptRequest
from apps.prompts.assembly.states import Beginning, beginning_of, holding_of, last_state, record, store_state
from apps.prompts.filling.budgets import BudgetStep, context_with_room
from apps.prompts.filling.fill import SlotPlan, plan_for
from apps.prompts.filling.fitting import CountFunction
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
    basis = _basis_of(request)
    plan = basis.plan()
    recalled = recall_for(basis.turn, basis.speaker, plan, request)
    contents = basis.contents(recalled.slots)
    if request.leave_trace:
        _leave_trace(basis, plan, recalled, contents)
    memory = PromptMemory(
        slots=contents.placed.slots,
        recall=recalled.recall,
        turn_class=basis.turn.turn_class,
        macros=contents.placed.macros,
        unified=contents.placed.unified,
        stable_tokens=contents.stable_memory_tokens,
        budget_steps=plan.steps,
    )
    return Prompt(
        memory,
        messages=contents.messages if basis.has_history else None,
        tokens=contents.tokens,
        history=contents.history,
        frame=contents.frame,
        stable_tokens=contents.stable_tokens,
    )


@dataclass(frozen=True)
class _Contents:
    """The messages of a prompt with their tokens: the slots, the history, and the frame with the macros of memory.

    ``beginning`` compares them with the last prompt, of which the first ``stable_memory_tokens`` of what is remembered
    are the same.
    """

    placed: Placement
    frame: Frame
    history: list[dict[str, str]]
    messages: list[dict[str, str]]
    tokens: list[int]
    beginning: Beginning
    stable_memory_tokens: int

    @property
    def stable_tokens(self) -> int:
        """Return how many of the first tokens of the messages are as in the last prompt."""
        if self.beginning.whole is None:
            return self.stable_memory_tokens
        return sum(self.tokens[: self.beginning.whole_unchanged])


@dataclass(frozen=True)
class _Basis:
    """What a prompt is made from before anything is recalled for it.

    The macros of memory are not replaced in the ``frame`` yet.
    """

    request: PromptRequest
    speaker: Character | None
    settings: PromptSettings
    frame: Frame
    turn: UserTurn
    history: History
    state: PromptState
    count: CountFunction

    @property
    def has_history(self) -> bool:
        """Return whether the conversation stands in the prompt."""
        return self.request.reply is not None or self.request.has_history

    def plan(self) -> SlotPlan:
        """Return the plan of the slots, which share with the conversation the room that the frame leaves."""
        request, room = self.request, self.request.room - self.frame.tokens

        def shown_beside(used: int) -> Collection[UUID]:
            return self.history.ids_within(room - used) if self.has_history else request.sent_ids or ()

        holding = holding_of(self.state, self.turn, self.settings)
        context = room
        if request.reply:
            # The newest message goes before what is remembered: without it there is no prompt.
            context = max(room - self.history.newest_tokens(), 1)
        elif request.has_history:
            context = context_with_room(room, room - self.history.newest_tokens())
        plan = plan_for(request.chat, self.speaker, self.turn.turn_class, self.settings, context, self.count)
        is_shown_known = self.has_history or request.sent_ids is not None
        return replace(plan, holding=holding, shown=shown_beside if is_shown_known else None)

    def contents(self, slots: Sequence[FilledSlot]) -> _Contents:
        """Return what stands in the prompt: the slots, and as much of the conversation as they and the frame leave.

        Raise Invalid if the newest message doesn't fit.
        """
        placed = place(slots, self.settings, self._texts_with_macros(), self.count)
        frame = self.frame.with_memory(placed.macros, self.count)
        rest = self.request.room - frame.tokens - sum(item.tokens for item in placed.slots)
        history = self.history.within(rest) if self.has_history else []
        messages = frame.around(insert_slots(placed.slots, history), history)
        is_whole = self.request.reply is not None
        remembered = insert_slots(placed.slots, []) if is_whole else messages
        beginning = beginning_of(self.state, remembered, messages if is_whole else None, self.request.reader)
        return _Contents(
            placed,
            frame,
            history,
            messages,
            tokens=[self.count(message["content"]) for message in messages],
            beginning=beginning,
            stable_memory_tokens=sum(self.count(item["content"]) for item in remembered[: beginning.unchanged]),
        )

    def _texts_with_macros(self) -> Iterable[str]:
        """Return the texts in which macros of memory may stand. A client with its own card looks at that itself."""
        fields = MACRO_FIELDS if self.speaker and self.request.sent_ids is None else ()
        own = (getattr(self.speaker, name) for name in fields)
        return [*own, *self.request.texts, *(part.text for part in self.frame.parts)]


def _basis_of(request: PromptRequest) -> _Basis:
    """Read what the prompt is made from. Raise Invalid for a card that doesn't fit, or who isn't in the group."""
    chat = request.chat
    speaker = speaker_or_default(chat, request.character)
    count = request.count
    frame = frame_of(request, speaker, count)
    turn = replace(find_turn(chat, request.text, speaker), is_previewed=not request.leave_trace)
    return _Basis(
        request,
        speaker,
        _settings_for(request),
        frame,
        turn,
        History(turn, count, character=speaker, skipped=int(request.again)),
        last_state(chat, speaker),
        count,
    )


def _settings_for(request: PromptRequest) -> PromptSettings:
    """Return the settings of the prompt. What the character hides is not told to who writes for the user."""
    settings = request.settings or settings_of(request.chat)
    if not (request.reply and request.reply.for_user):
        return settings
    slot = replace(settings.slots[EPISTEMIC.name], enabled=False)
    return replace(settings, slots={**settings.slots, EPISTEMIC.name: slot})


def _leave_trace(basis: _Basis, plan: SlotPlan, recalled: Recalled, contents: _Contents) -> None:
    """Store what later prompts are compared with and tuned to, and what of lorebooks the turn's prompt had."""
    record(basis.request.chat, recalled.slots)
    store_state(basis.state, contents.beginning, plan, recalled.fitted)
    if basis.request.reply:
        record_lore(basis.turn, [item.document for item in contents.frame.lore.texts])
