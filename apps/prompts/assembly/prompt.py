"""Assemble a prompt: recall for a turn, fill the slots, and place them in the conversation.

Whoever needs a prompt comes here: the chat page and its preview, the API and the proxy.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from apps.chats.models import Character
from apps.chats.queries.replying import reply_token_counter
from apps.prompts.assembly.frame import Frame, Part, frame_of
from apps.prompts.assembly.history import History, insert_slots
from apps.prompts.assembly.placement import place
from apps.prompts.assembly.recalled import recall_for
from apps.prompts.assembly.requests import PromptRequest
from apps.prompts.assembly.states import digests_of, held_after, holding_of, last_state, store_state, unchanged_count
from apps.prompts.lorebooks.lorebook import Lore
from apps.prompts.models import PromptState, Recall
from apps.prompts.operations import record_lore
from apps.prompts.settings.schema import Settings
from apps.prompts.settings.stores import plan_for, settings_of
from apps.prompts.slots.allocation import within_rest
from apps.prompts.slots.definitions import EPISTEMIC
from apps.prompts.slots.filled_slots import FilledSlot
from apps.prompts.slots.plan import Plan
from apps.prompts.slots.turn_class import classify
from apps.prompts.statistics import record
from apps.prompts.turns import UserTurn, find_turn
from apps.prompts.witnessing import speaker_or_default

CARD_FIELDS = ("system_prompt", "description", "personality", "scenario", "mes_example")  # in which macros may stand


@dataclass(frozen=True)
class PromptMemory:
    """What is remembered in a prompt, in its slots.

    ``recall`` is None if nothing was recalled. ``macros`` are the texts of all macros by name. ``unified`` is the text
    of the one block, or None in other modes. The first ``stable_tokens`` are the same as in the last prompt of the
    chat for this character.
    """

    slots: list[FilledSlot]
    recall: Recall | None
    turn_class: str
    macros: Mapping[str, str]
    unified: str | None
    stable_tokens: int

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
    def parts(self) -> list[Part]:
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
    count = reply_token_counter(chat)
    frame = frame_of(request, reply, speaker, count) if reply else Frame()  # which adds nothing to the rest
    room = request.context_tokens - frame.tokens - (reply.tokens if reply else 0)
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
    prefix, whole = digests_of(remembered), digests_of(messages) if reply else None
    stable = sum(count(message["content"]) for message in remembered[: unchanged_count(state.prefix, prefix)])
    if request.leave_trace:
        record(chat, recalled.slots)
        store_state(state, prefix, whole, held_after(state, plan, recalled.fitted))
        if reply:
            record_lore(turn, [item.document for item in frame.lore.texts])
    return Prompt(
        PromptMemory(placed.slots, recalled.recall, classify(turn.text), placed.macros, placed.unified, stable),
        messages=messages if reply or request.has_history else None,
        tokens=tokens,
        history=spoken,
        frame=frame,
        stable_tokens=stable if whole is None else sum(tokens[: unchanged_count(state.whole, whole)]),
    )


def _settings_for(request: PromptRequest) -> Settings:
    """Return the settings of the prompt. What the character hides is not told to who writes for the user."""
    settings = request.settings or settings_of(request.chat)
    if not (request.reply and request.reply.for_user):
        return settings
    slot = replace(settings.slots[EPISTEMIC.name], enabled=False)
    return replace(settings, slots={**settings.slots, EPISTEMIC.name: slot})


def _plan(
    request: PromptRequest, settings: Settings, turn: UserTurn, history: History, state: PromptState, room: int
) -> Plan:
    """Return the plan of the slots, which share ``room`` tokens with the conversation."""

    def shown_beside(used: int) -> Collection[UUID]:
        return history.ids_within(room - used) if has_history else request.sent or ()

    has_history = request.reply is not None or request.has_history
    shown = shown_beside if has_history or request.sent is not None else None
    context = room
    if request.reply:
        # The newest message goes before what is remembered: without it there is no prompt.
        context = max(room - history.newest_tokens(), 1)
    elif request.has_history:
        context = within_rest(room, history.newest_tokens())
    plan = plan_for(request.chat, state.character, classify(turn.text), settings, context)
    return replace(plan, holding=holding_of(state, turn, settings), shown=shown)


def _texts_with_macros(request: PromptRequest, speaker: Character | None, frame: Frame) -> Iterable[str]:
    """Return the texts in which macros of memory may stand. A client that sends its own card looks at that itself."""
    fields = CARD_FIELDS if speaker and request.sent is None else ()
    return [*(getattr(speaker, name) for name in fields), *request.texts, *(part.text for part in frame.parts)]
