"""Assemble a prompt: recall for a turn, fill the slots, and place them in the conversation.

Whoever needs a prompt comes here: the chat page and its preview, the API and the proxy.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from apps.chats.models import Character
from apps.prompts.assembly.conversation import Contents, History, insert_slots, place
from apps.prompts.assembly.frame import Frame, PromptPart, frame_of
from apps.prompts.assembly.recalled import recall_for
from apps.prompts.assembly.requests import PromptRequest
from apps.prompts.assembly.states import holding_of, last_state, record_prompt
from apps.prompts.filling.budgets import BudgetStep, context_with_room
from apps.prompts.filling.plan import SlotPlan, slot_plan_for
from apps.prompts.lorebooks.lorebook import Lore
from apps.prompts.models import PromptState, Recall
from apps.prompts.operations import record_lore
from apps.prompts.settings.schema import PromptSettings
from apps.prompts.settings.stores import prompt_settings_of
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


@dataclass(frozen=True)
class Surroundings:
    """What stands around what is remembered: the frame, and the conversation, of which as much as there is room for.

    The macros of memory are not replaced in the ``frame`` yet.
    """

    request: PromptRequest
    speaker: Character | None
    frame: Frame
    history: History

    def with_memory(self, slots: Sequence[FilledSlot], settings: PromptSettings) -> Contents:
        """Return what stands in the prompt: the slots, and as much of the conversation as they and the frame leave.

        Raise Invalid if the newest message doesn't fit.
        """
        request, count = self.request, self.request.count
        placed = place(slots, settings, self._texts_with_macros(), count)
        frame = self.frame.with_memory(placed.macros, count)
        rest = request.room - frame.tokens - sum(item.tokens for item in placed.slots)
        history = self.history.within(rest) if request.shows_history else []
        messages = frame.around(insert_slots(placed.slots, history), history)
        return Contents(
            placed,
            frame,
            history,
            messages,
            tokens=[count(message["content"]) for message in messages],
            remembered=insert_slots(placed.slots, []) if request.reply else messages,
        )

    def _texts_with_macros(self) -> Iterable[str]:
        """Return the texts in which macros of memory may stand. A client with its own card looks at that itself."""
        fields = MACRO_FIELDS if self.speaker and self.request.sent_ids is None else ()
        own = (getattr(self.speaker, name) for name in fields)
        return [*own, *self.request.texts, *(part.text for part in self.frame.parts)]


def assemble(request: PromptRequest) -> Prompt:
    """Return the prompt that is asked for, and store what was recalled for its turn.

    Raise Invalid for a context that the newest message or the card doesn't fit, or, of a whole prompt, for a character
    who isn't in the group.
    """
    chat, count = request.chat, request.count
    speaker = speaker_or_default(chat, request.character)
    frame = frame_of(request, request.reply, speaker) if request.reply else Frame()
    turn = replace(find_turn(chat, request.text, speaker), is_previewed=not request.leave_trace)
    around = Surroundings(request, speaker, frame, History(turn, count, character=speaker, skipped=int(request.again)))
    settings, state = _settings_for(request), last_state(chat, speaker)
    plan = _plan(around, turn, settings, state)
    recalled = recall_for(turn, speaker, plan, request)
    contents = around.with_memory(recalled.slots, settings)
    beginning = record_prompt(state, contents, plan, recalled, request)
    if request.leave_trace and request.reply:
        record_lore(turn, [item.document for item in contents.frame.lore.texts])
    stable_tokens = sum(count(message["content"]) for message in contents.remembered[: beginning.unchanged])
    memory = PromptMemory(
        slots=contents.placed.slots,
        recall=recalled.recall,
        turn_class=plan.turn_class,
        macros=contents.placed.macros,
        unified=contents.placed.unified,
        stable_tokens=stable_tokens,
        budget_steps=plan.steps,
    )
    return Prompt(
        memory,
        messages=contents.messages if request.shows_history else None,
        tokens=contents.tokens,
        history=contents.history,
        frame=contents.frame,
        stable_tokens=sum(contents.tokens[: beginning.whole_unchanged]) if request.reply else stable_tokens,
    )


def _plan(around: Surroundings, turn: UserTurn, settings: PromptSettings, state: PromptState) -> SlotPlan:
    """Return the plan of the slots, which share with the conversation the room that the frame leaves."""
    request, history, room = around.request, around.history, around.request.room - around.frame.tokens

    def shown_beside(used: int) -> Collection[UUID]:
        return history.ids_within(room - used) if request.shows_history else request.sent_ids or ()

    context = room
    if request.reply:
        # The newest message goes before what is remembered: without it there is no prompt.
        context = max(room - history.newest_tokens(), 1)
    elif request.has_history:
        context = context_with_room(room, room - history.newest_tokens())
    plan = slot_plan_for(request.chat, around.speaker, turn.text, settings, context, request.count)
    period, is_shown_known = settings.refresh_period, request.shows_history or request.sent_ids is not None
    return replace(
        plan,
        holding=holding_of(state, turn, period) if period > 1 else None,
        shown=shown_beside if is_shown_known else None,
    )


def _settings_for(request: PromptRequest) -> PromptSettings:
    """Return the settings of the prompt. What the character hides is not told to who writes for the user."""
    settings = request.settings or prompt_settings_of(request.chat)
    if not (request.reply and request.reply.for_user):
        return settings
    slot = replace(settings.slots[EPISTEMIC.name], enabled=False)
    return replace(settings, slots={**settings.slots, EPISTEMIC.name: slot})
