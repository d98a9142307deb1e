"""Assemble the whole prompt of a chat."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from apps.chats.languages import in_language_of_chat
from apps.chats.macros import Draws, resolve_card_text, resolve_choices, resolve_in_order
from apps.chats.models import Character, Chat
from apps.chats.queries import lorebooks_in
from apps.common.problems import Invalid
from apps.injection.lore import record_lore
from apps.injection.prompts.assembly import Prompt, assemble
from apps.injection.prompts.history import History, insert_slots
from apps.injection.prompts.states import compare_whole
from apps.injection.settings.schema import Settings
from apps.injection.settings.stores import settings_of
from apps.injection.slots.definitions import EPISTEMIC
from apps.injection.slots.filled_slots import FilledSlot
from apps.injection.turns import count_replies, find_turn, spoken_turns_newest_first
from apps.injection.witnessing import require_member, speaker_or_default
from apps.llm.backends import token_counter_for
from apps.replies.models import GenerationPreset
from apps.replies.presets import preset_or_default
from apps.replies.prompts.lore_entries import LoreSetting
from apps.replies.prompts.lorebook import LORE_AFTER_NOTE, LORE_AT_DEPTH, LORE_BEFORE_NOTE, Lore, lore_of_books
from apps.replies.prompts.notes import note_of
from apps.replies.prompts.parts import (
    DEFAULT_SYSTEM_PROMPT,
    IMPERSONATION_PROMPT,
    Card,
    Part,
    closing_text,
    opening_texts,
)

MAX_SCANNED_MESSAGES = 50
LORE_SHARE = 4  # lore takes at most this part of the context: a quarter
Counter = Callable[[str], int]
CARD_FIELDS = tuple(Card.__dataclass_fields__)


@dataclass(frozen=True)
class WholePrompt:
    """The prompt of a chat. ``parts`` are its fixed texts, ``memory`` what was recalled, ``messages`` all together.

    ``tokens`` has the number of tokens of each message, ``names`` the values of the macros for names. The first
    ``stable_tokens`` are as in the last prompt for this speaker, so that a provider's cache may have them.
    ``history`` are those of the messages that were said in the chat, ``lore`` the lorebook entries that were found.
    """

    parts: list[Part]
    memory: Prompt
    messages: list[dict[str, str]]
    tokens: list[int]
    names: dict[str, str]
    history: list[dict[str, str]]
    lore: Lore
    stable_tokens: int = 0

    @property
    def slots(self) -> list[FilledSlot]:
        return self.memory.slots

    @property
    def total_tokens(self) -> int:
        return sum(self.tokens)

    @property
    def counted_messages(self) -> list[dict[str, str | int]]:
        return [message | {"tokens": tokens} for message, tokens in zip(self.messages, self.tokens, strict=True)]


def assemble_whole(
    chat: Chat,
    *,
    text: str | None = None,
    character: Character | None = None,
    preset: GenerationPreset | None = None,
    context_tokens: int,
    reply_tokens: int = 0,
    settings: Settings | None = None,
    leave_trace: bool = True,
    without_last: bool = False,
    instruction: str = "",
    for_user: bool = False,
) -> WholePrompt:
    """Return the prompt for the turn with ``text``, or for the last one, within the context less ``reply_tokens``.

    ``character`` speaks. Without a ``preset`` the default one applies, without ``settings`` the
    injection settings of the chat. ``instruction`` comes last. ``without_last``
    leaves out the last message, for another reply in its place, with the recall of the first one. ``for_user``: the
    user's next message is to be written, with nothing that the character hides. Raise Invalid for a context that the
    card or the turn doesn't fit, or a character who isn't in the group.
    """
    require_member(chat, character)
    speaker = speaker_or_default(chat, character)
    is_told = speaker is not None and not speaker.withheld
    preset = preset_or_default(chat.owner_id, preset)
    draws = Draws(str(chat.pk), f"{chat.pk}:{chat.rev}")
    card = Card(**{name: resolve_choices(getattr(speaker, name), draws) for name in CARD_FIELDS if is_told})
    available = context_tokens - reply_tokens
    count = token_counter_for(chat.owner_id)
    skipped = int(without_last)
    names = chat.names_for(speaker)
    setting = LoreSetting(names, draws, partial(count_replies, chat))
    lore = _lore(chat, speaker, text, available // LORE_SHARE, count, skipped, setting)
    others = _others(chat, speaker)
    persona = resolve_choices(chat.persona.description, draws) if chat.persona and not chat.persona.withheld else ""
    default_prompt = IMPERSONATION_PROMPT if for_user else DEFAULT_SYSTEM_PROMPT
    system_prompt = resolve_choices(preset.system_prompt, draws)
    with in_language_of_chat(chat):
        opening = opening_texts(card, system_prompt, persona, lore, others, names, default_prompt=default_prompt)
    note = note_of(chat.metadata)
    around_note = {
        LORE_BEFORE_NOTE: lore.text_at(LORE_BEFORE_NOTE),
        "authors_note": resolve_choices(note.text, draws),
        LORE_AFTER_NOTE: lore.text_at(LORE_AFTER_NOTE),
    }
    deep = [
        (_part(LORE_AT_DEPTH, resolve_card_text(item.text, names), count, item.role), item.depth)
        for item in lore.at(LORE_AT_DEPTH)
    ]
    for name, content in around_note.items():
        if content := resolve_card_text(content, names).strip():
            deep.append((_part(name, content, count), note.depth))
    instructions = resolve_choices(preset.post_history_instructions, draws)
    closing = {
        "post_history": closing_text(card, instructions, names),
        "instruction": resolve_card_text(instruction, names),
    }
    openings, closings = ([_part(name, content, count) for name, content in of.items()] for of in (opening, closing))
    fixed = [*openings, *(part for part, _ in deep), *closings]
    used = sum(part.tokens for part in fixed)  # before the macros of memory are known
    if used >= available:
        detail = f"The card and the reply take {used + reply_tokens} tokens, and the context has {context_tokens}."
        raise Invalid.at("/context_tokens", detail)
    turn = find_turn(chat, text, speaker)
    history = History(turn, count, character=speaker, skipped=skipped)
    room = available - used - history.newest_tokens()  # the newest message goes before what is remembered
    memory = assemble(
        chat,
        text=text,
        character=speaker,
        context_tokens=max(room, 1),
        with_history=False,
        texts=[part.text for part in fixed],
        settings=_without_secrets(settings or settings_of(chat)) if for_user else settings,
        leave_trace=leave_trace,
        keep_recall=without_last,
        shown=lambda tokens: history.ids_within(available - used - tokens),
    )
    if leave_trace:
        record_lore(turn, [item.document for item in lore.texts])
    fixed = _with_memory(fixed, memory.macros, count)
    before, after = len(openings), len(openings) + len(deep)
    spent = sum(part.tokens for part in fixed) + sum(filled.tokens for filled in memory.slots)
    spoken = history.within(available - spent)
    conversation = insert_slots(memory.slots, spoken)
    for part, (_, depth) in zip(fixed[before:after], deep, strict=True):
        conversation = _with_part(conversation, spoken, part, depth)
    messages = [
        *(part.message for part in fixed[:before] if part.text),
        *conversation,
        *(part.message for part in fixed[after:] if part.text),
    ]
    tokens = [count(message["content"]) for message in messages]
    stable = compare_whole(memory.state, messages, store=leave_trace) if memory.state else 0
    shown = [part for part in fixed if part.text]
    return WholePrompt(shown, memory, messages, tokens, names, spoken, lore, sum(tokens[:stable]))


def _without_secrets(settings: Settings) -> Settings:
    """Return the settings without the slot of what the character knows and hides."""
    slot = replace(settings.slots[EPISTEMIC.name], enabled=False)
    return replace(settings, slots={**settings.slots, EPISTEMIC.name: slot})


def _others(chat: Chat, speaker: Character | None) -> list[str]:
    """Return the names of the participants besides the speaker."""
    names = chat.participants.order_by("position").values_list("name", flat=True)
    return [name for name in names if speaker is None or name != speaker.name]


def _lore(
    chat: Chat,
    speaker: Character | None,
    text: str | None,
    budget: int,
    count: Counter,
    skipped: int,
    setting: LoreSetting,
) -> Lore:
    """Return what the lorebooks say about the recent messages that the speaker witnessed, but ``skipped``.

    Each message begins with its speaker's name, which may be a key.
    """
    books = [book.document for book in lorebooks_in(chat, speaker) if not book.withheld]
    if not books:
        return Lore()
    heard = spoken_turns_newest_first(chat, speaker, skipped=skipped)
    recent = [f"{message.name}: {message.mes}" for message in islice(heard, MAX_SCANNED_MESSAGES)]
    unsent = [f"{setting.names['user']}: {text}"] if text else []
    return lore_of_books(books, [*unsent, *recent], budget, count, setting)


def _with_memory(parts: Sequence[Part], macros: Mapping[str, str], count: Counter) -> list[Part]:
    """Return the parts with the macros of memory replaced, each where it stands first."""
    texts = resolve_in_order([part.text for part in parts], macros)
    return [_part(part.name, text.strip(), count, part.role) for part, text in zip(parts, texts, strict=True)]


def _part(name: str, text: str, count: Counter, role: str = "system") -> Part:
    return Part(name, text, count(text), role)


def _with_part(
    messages: list[dict[str, str]], history: Sequence[dict[str, str]], part: Part, depth: int
) -> list[dict[str, str]]:
    """Return the messages with the part, if it has a text, before the last ``depth`` messages of the history."""
    if not part.text:
        return messages
    following = history[-depth:] if depth else []
    place = next((at for at, item in enumerate(messages) if following and item is following[0]), len(messages))
    return [*messages[:place], part.message, *messages[place:]]
