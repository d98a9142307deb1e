"""The frame of a whole prompt: what stands around memory and conversation, of card, persona, lorebooks and notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

from django.utils.translation import gettext

from apps.chats.languages import in_language_of_chat
from apps.chats.macros import Draws, resolve_card_text, resolve_choices, resolve_in_order
from apps.chats.models import Character, Chat
from apps.chats.queries import lorebooks_in
from apps.common.problems import Invalid
from apps.prompts.assembly.requests import PromptRequest, Reply
from apps.prompts.filling.plan import CountFunction
from apps.prompts.lorebooks.lore_entries import LoreSetting
from apps.prompts.lorebooks.lorebook import (
    LORE_AFTER,
    LORE_AFTER_EXAMPLES,
    LORE_AFTER_NOTE,
    LORE_AT_DEPTH,
    LORE_BEFORE,
    LORE_BEFORE_EXAMPLES,
    LORE_BEFORE_NOTE,
    Lore,
    lore_of_books,
)
from apps.prompts.turns import count_replies, spoken_turns_newest_first
from apps.prompts.witnessing import require_member

MAX_SCANNED_MESSAGES = 50
LORE_SHARE = 4  # lore takes at most this part of the context: a quarter
IMPERSONATION_PROMPT = "Write the next message of {{user}} in a conversation with {{char}}. Don't speak for {{char}}."
DEFAULT_SYSTEM_PROMPT = (
    "Write the next reply of {{char}} in a conversation with {{user}}. Stay in character and don't speak for {{user}}."
)
NO_LORE = Lore()
DEFAULT_DEPTH = 4  # messages that follow an author's note


@dataclass(frozen=True)
class CharacterTexts:
    """The texts of a character card that go into a prompt, with macros."""

    system_prompt: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    mes_example: str = ""
    post_history_instructions: str = ""


CHARACTER_FIELDS = tuple(CharacterTexts.__dataclass_fields__)


@dataclass(frozen=True)
class Note:
    """The author's note of a chat: a text before the last ``depth`` messages of every prompt."""

    text: str = ""
    depth: int = DEFAULT_DEPTH

    def metadata_patch(self) -> dict[str, Any]:
        """Return the merge patch that sets the note in a chat's metadata."""
        return {"note_prompt": self.text or None, "note_depth": self.depth}


def note_of(metadata: Mapping[str, Any]) -> Note:
    """Return the note in a chat's metadata, in SillyTavern's keys. Values of other types count as missing."""
    text, depth = metadata.get("note_prompt"), metadata.get("note_depth")
    if not isinstance(depth, int) or isinstance(depth, bool) or depth < 0:
        depth = DEFAULT_DEPTH
    return Note(text if isinstance(text, str) else "", depth)


@dataclass(frozen=True)
class PromptPart:
    """A named text of a prompt with its role and its number of tokens."""

    name: str
    text: str
    tokens: int
    role: str = "system"

    @property
    def message(self) -> dict[str, str]:
        return {"role": self.role, "content": self.text}


@dataclass(frozen=True)
class Frame:
    """The fixed parts of a prompt: before the conversation, within it at depths, and after it.

    ``names`` are the values of the macros for names, ``lore`` the lorebook entries that were found.
    """

    opening: Sequence[PromptPart] = ()
    deep: Sequence[tuple[PromptPart, int]] = ()
    closing: Sequence[PromptPart] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    lore: Lore = NO_LORE

    @property
    def parts(self) -> list[PromptPart]:
        return [*self.opening, *(part for part, _ in self.deep), *self.closing]

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts)

    def with_memory(self, macros: Mapping[str, str], count: CountFunction) -> "Frame":
        """Return the frame with the macros of memory replaced, each where it stands first."""
        texts = iter(resolve_in_order([part.text for part in self.parts], macros))

        def resolved(part: PromptPart) -> PromptPart:
            return part_of(part.name, next(texts).strip(), count, part.role)

        opening = [resolved(part) for part in self.opening]
        deep = [(resolved(part), depth) for part, depth in self.deep]
        return replace(self, opening=opening, deep=deep, closing=[resolved(part) for part in self.closing])

    def around(self, conversation: list[dict[str, str]], history: Sequence[dict[str, str]]) -> list[dict[str, str]]:
        """Return the messages of the prompt. ``history`` are those of the conversation that were said in the chat."""
        for part, depth in self.deep:
            conversation = _with_part(conversation, history, part, depth)
        opening, closing = ([part.message for part in parts if part.text] for parts in (self.opening, self.closing))
        return [*opening, *conversation, *closing]


def frame_of(request: PromptRequest, reply: Reply, speaker: Character | None) -> Frame:
    """Return what stands around memory and conversation in the prompt for a reply.

    Raise Invalid for a context that the card doesn't fit, or a character who isn't in the group.
    """
    chat, count = request.chat, request.count
    require_member(chat, request.character)
    draws = Draws(str(chat.pk), f"{chat.pk}:{chat.rev}")
    character = _texts_of_card(speaker, draws)
    persona = resolve_choices(chat.persona.description, draws) if chat.persona and not chat.persona.withheld else ""
    system_prompt, instructions = (
        resolve_choices(text, draws)
        for text in ((reply.preset.system_prompt, reply.preset.post_history_instructions) if reply.preset else ("", ""))
    )
    setting = LoreSetting(chat.names_for(speaker), draws, partial(count_replies, chat))
    lore = _lore(request, speaker, setting)
    default_prompt = IMPERSONATION_PROMPT if reply.for_user else DEFAULT_SYSTEM_PROMPT
    originals = _system_prompts(system_prompt, default_prompt, setting.names)
    with in_language_of_chat(chat):
        opening = _opening_texts(character, persona, lore, _others(chat, speaker), originals)
    closing = {
        "post_history": _closing_text(character, instructions, setting.names),
        "instruction": resolve_card_text(reply.instruction, setting.names),
    }
    frame = Frame(
        opening=[part_of(name, text, count) for name, text in opening.items()],
        deep=_deep_parts(chat, lore, setting, count),
        closing=[part_of(name, text, count) for name, text in closing.items()],
        names=setting.names,
        lore=lore,
    )
    _refuse_beyond_context(frame, request, reply)
    return frame


def _refuse_beyond_context(frame: Frame, request: PromptRequest, reply: Reply) -> None:
    """Raise Invalid if nothing is left for memory and conversation.

    The macros of memory are not replaced yet: how long they are is not known.
    """
    if frame.tokens >= request.room:
        detail = (
            f"The card and the reply take {frame.tokens + reply.tokens} tokens, "
            f"and the context has {request.context_tokens}."
        )
        raise Invalid.at("/context_tokens", detail)


def _texts_of_card(speaker: Character | None, draws: Draws) -> CharacterTexts:
    """Return the texts of a card with their random choices made, or none of a card that moderators withhold."""
    if speaker is None or speaker.withheld:
        return CharacterTexts()
    return CharacterTexts(**{name: resolve_choices(getattr(speaker, name), draws) for name in CHARACTER_FIELDS})


def _others(chat: Chat, speaker: Character | None) -> list[str]:
    """Return the names of the participants besides the speaker."""
    names = chat.participants.order_by("position").values_list("name", flat=True)
    return [name for name in names if speaker is None or name != speaker.name]


def _lore(request: PromptRequest, speaker: Character | None, setting: LoreSetting) -> Lore:
    """Return what the lorebooks say about the recent messages that the speaker witnessed.

    Each message begins with its speaker's name, which may be a key.
    """
    books = [book.document for book in lorebooks_in(request.chat, speaker) if not book.withheld]
    if not books:
        return Lore()
    heard = spoken_turns_newest_first(request.chat, speaker, skipped=int(request.again))
    recent = [f"{message.name}: {message.mes}" for message in islice(heard, MAX_SCANNED_MESSAGES)]
    unsent = [f"{setting.names['user']}: {request.text}"] if request.text else []
    return lore_of_books(books, [*unsent, *recent], request.room // LORE_SHARE, request.count, setting)


def _deep_parts(chat: Chat, lore: Lore, setting: LoreSetting, count: CountFunction) -> list[tuple[PromptPart, int]]:
    """Return what stands within the conversation: lore at its depths, and the author's note between its lore."""
    deep = [
        (part_of(LORE_AT_DEPTH, resolve_card_text(item.text, setting.names), count, item.role), item.depth)
        for item in lore.at(LORE_AT_DEPTH)
    ]
    note = note_of(chat.metadata)
    around_note = {
        LORE_BEFORE_NOTE: lore.text_at(LORE_BEFORE_NOTE),
        "authors_note": resolve_choices(note.text, setting.draws),
        LORE_AFTER_NOTE: lore.text_at(LORE_AFTER_NOTE),
    }
    for name, content in around_note.items():
        if text := resolve_card_text(content, setting.names).strip():
            deep.append((part_of(name, text, count), note.depth))
    return deep


def _system_prompts(system_prompt: str, default_prompt: str, names: Mapping[str, str]) -> dict[str, str]:
    """Return the names with what ``{{original}}`` is in a card: ``system_prompt``, whose own is the default one."""
    default = {"original": resolve_card_text(default_prompt, names)}
    original = resolve_card_text(system_prompt.strip() or "{{original}}", {**names, **default})
    return {**names, "original": original}


def _opening_texts(
    character: CharacterTexts, persona: str, lore: Lore, others: Sequence[str], values: Mapping[str, str]
) -> dict[str, str]:
    """Return the texts before the conversation, by name and in order, without empty ones.

    ``others`` are the names of other speakers, ``values`` those of macros. Labels are in the language that is active.
    """
    templates = {
        "system_prompt": character.system_prompt.strip() or "{{original}}",
        LORE_BEFORE: lore.text_at(LORE_BEFORE),
        "persona": persona,
        "description": character.description,
        "personality": _labelled(gettext("Personality of {{char}}"), character.personality),
        "scenario": _labelled(gettext("Scenario"), character.scenario),
        LORE_AFTER: lore.text_at(LORE_AFTER),
        LORE_BEFORE_EXAMPLES: lore.text_at(LORE_BEFORE_EXAMPLES),
        "examples": _labelled(gettext("Examples of how {{char}} speaks"), character.mes_example),
        LORE_AFTER_EXAMPLES: lore.text_at(LORE_AFTER_EXAMPLES),
    }
    texts = {name: resolve_card_text(text, values).strip() for name, text in templates.items()}
    texts["group"] = gettext("Also present: %(names)s.") % {"names": ", ".join(others)} if others else ""
    return {name: text for name, text in texts.items() if text}


def _closing_text(character: CharacterTexts, instructions: str, values: Mapping[str, str]) -> str:
    """Return the instructions after the conversation, or an empty text.

    Those of the card take precedence over ``instructions``, which are its ``{{original}}``.
    """
    original = resolve_card_text(instructions, {**values, "original": ""}).strip()
    return resolve_card_text(
        character.post_history_instructions.strip() or "{{original}}", {**values, "original": original}
    ).strip()


def _labelled(label: str, text: str) -> str:
    return f"{label}:\n{text}" if text.strip() else ""


def part_of(name: str, text: str, count: CountFunction, role: str = "system") -> PromptPart:
    """Return a text of a prompt with its tokens counted."""
    return PromptPart(name, text, count(text), role)


def _with_part(
    messages: list[dict[str, str]], history: Sequence[dict[str, str]], part: PromptPart, depth: int
) -> list[dict[str, str]]:
    """Return the messages with the part, if it has a text, before the last ``depth`` messages of the history."""
    if not part.text:
        return messages
    following = history[-depth:] if depth else []
    place = next((at for at, item in enumerate(messages) if following and item is following[0]), len(messages))
    return [*messages[:place], part.message, *messages[place:]]
