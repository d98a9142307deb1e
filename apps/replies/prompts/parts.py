"""The fixed parts of a prompt: what a card, a persona and a lorebook say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from apps.chats.macros import resolve_card_text
from apps.replies.prompts.lorebook import (
    LORE_AFTER,
    LORE_AFTER_EXAMPLES,
    LORE_BEFORE,
    LORE_BEFORE_EXAMPLES,
    Lore,
)

IMPERSONATION_PROMPT = "Write the next message of {{user}} in a conversation with {{char}}. Don't speak for {{char}}."
DEFAULT_SYSTEM_PROMPT = (
    "Write the next reply of {{char}} in a conversation with {{user}}. Stay in character and don't speak for {{user}}."
)


@dataclass(frozen=True)
class Card:
    """The texts of a character card that go into a prompt, with macros."""

    system_prompt: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    mes_example: str = ""
    post_history_instructions: str = ""


@dataclass(frozen=True)
class Part:
    """A named text of a prompt with its role and its number of tokens."""

    name: str
    text: str
    tokens: int
    role: str = "system"

    @property
    def message(self) -> dict[str, str]:
        return {"role": self.role, "content": self.text}


def opening_texts(
    card: Card,
    system_prompt: str,
    persona: str,
    lore: Lore,
    others: Sequence[str],
    values: Mapping[str, str],
    *,
    default_prompt: str = DEFAULT_SYSTEM_PROMPT,
) -> dict[str, str]:
    """Return the texts before the conversation, by name and in order, without empty ones.

    ``system_prompt`` stands for a card's if it has none. ``others`` are the names of other speakers, ``values`` those
    of macros. ``{{original}}`` is ``system_prompt`` in a card, and the default one in ``system_prompt``. Labels are in
    the language that is active.
    """
    default = {"original": resolve_card_text(default_prompt, values)}
    original = {"original": resolve_card_text(system_prompt.strip() or "{{original}}", {**values, **default})}
    templates = {
        "system_prompt": card.system_prompt.strip() or "{{original}}",
        LORE_BEFORE: lore.text_at(LORE_BEFORE),
        "persona": persona,
        "description": card.description,
        "personality": _labelled(gettext("Personality of {{char}}"), card.personality),
        "scenario": _labelled(gettext("Scenario"), card.scenario),
        LORE_AFTER: lore.text_at(LORE_AFTER),
        LORE_BEFORE_EXAMPLES: lore.text_at(LORE_BEFORE_EXAMPLES),
        "examples": _labelled(gettext("Examples of how {{char}} speaks"), card.mes_example),
        LORE_AFTER_EXAMPLES: lore.text_at(LORE_AFTER_EXAMPLES),
    }
    texts = {name: resolve_card_text(text, {**values, **original}).strip() for name, text in templates.items()}
    texts["group"] = gettext("Also present: %(names)s.") % {"names": ", ".join(others)} if others else ""
    return {name: text for name, text in texts.items() if text}


def closing_text(card: Card, instructions: str, values: Mapping[str, str]) -> str:
    """Return the instructions after the conversation, or an empty text.

    Those of the card take precedence over ``instructions``, which are its ``{{original}}``.
    """
    original = resolve_card_text(instructions, {**values, "original": ""}).strip()
    return resolve_card_text(
        card.post_history_instructions.strip() or "{{original}}", {**values, "original": original}
    ).strip()


def _labelled(label: str, text: str) -> str:
    return f"{label}:\n{text}" if text.strip() else ""
