"""Every setting of the prompt: default, range, label and help. Without database access.

A document holds only the settings that differ from the defaults. Those of a slot are named after it, such as
``long_term_budget``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.common.words import Words
from apps.extraction.settings.schema import Group, check_values, value_error
from apps.prompts.slots.blocks import template_error
from apps.prompts.slots.definitions import ALL_SLOTS, IN_CHAT, IN_PROMPT, Slot

SCHEMA_VERSION = 1
SELDOM = Group(_("More in general"), _("The opening recap, the provider’s cache, and templates of other programs."))
MAX_BUDGET = 1_000_000
MAX_TEMPLATE_LENGTH = 4000  # characters

SIMPLE, ADVANCED, ONE_BLOCK, BY_MACROS = "simple", "advanced", "unified", "macros"


@dataclass(frozen=True)
class Setting:
    """A setting: its type, default, label and help, and its ``limits``: low and high, or choices."""

    kind: type
    default: Any
    label: Words
    limits: Mapping[str, Any]
    help: Words = ""

    def error(self, value: Any) -> str | None:
        """Return what is wrong with a value, or None."""
        if self.kind is not str or "choices" in self.limits:
            return value_error(self.kind, self.limits, value)
        if not isinstance(value, str):
            return gettext("It must be a text.")
        if len(value) > MAX_TEMPLATE_LENGTH:
            return gettext("It must have at most %(max_template_length)s characters.") % {
                "max_template_length": MAX_TEMPLATE_LENGTH
            }
        return gettext("It must not contain the character NUL.") if "\x00" in value else template_error(value)


GENERAL = {
    "mode": Setting(
        str,
        ADVANCED,
        _("Room for memory"),
        {
            "choices": {
                SIMPLE: _("One budget for everything"),
                ADVANCED: _("A budget for each kind"),
                ONE_BLOCK: _("One block before the conversation"),
                BY_MACROS: _("Only where your card asks for it"),
            }
        },
        _(
            "How the room for memory is divided. A card asks for it by a word in double braces, a macro, such as "
            "{{smartmemory-longterm}}."
        ),
    ),
    "total_budget": Setting(
        int,
        3750,
        _("Total"),
        {"low": 0, "high": MAX_BUDGET},
        _("Tokens for all kinds, with one budget for everything. The summary has a budget of its own."),
    ),
    "adaptive": Setting(
        bool,
        True,
        _("Follow the turn"),
        {},
        _("What is recalled depends on what is going on: a fight gets other budgets than a talk."),
    ),
    "auto_tune": Setting(bool, False, _("Tune budgets"), {}, _("Budgets grow to what the chat has needed, plus 15 %.")),
    "refresh_period": Setting(
        int,
        1,
        _("Refresh every"),
        {"low": 1, "high": 1000},
        _(
            "Turns for which new entries wait before they join the blocks before the "
            "conversation. The provider's cache "
            "keeps these blocks meanwhile. What a person changes joins at once."
        ),
    ),
    "recap_hours": Setting(
        int,
        4,
        _("Recap after"),
        {"low": 0, "high": 8760},
        _("Hours without a change after which the chat opens with what happened before. 0: never."),
    ),
    "force_macros": Setting(
        bool,
        False,
        _("Wait for macros"),
        {},
        _("Memory stands only where a macro of the card or of a template of another program places it."),
    ),
    "memory_tools": Setting(
        bool,
        False,
        _("Let the model look things up"),
        {},
        _(
            "While it writes, the model may search this memory itself, in up to three rounds. Each round is another "
            "call of it. It needs a model that can call tools."
        ),
    ),
}


def _slot_settings(slot: Slot) -> dict[str, Setting]:
    places = {IN_PROMPT: _("Before the conversation"), IN_CHAT: _("Within the conversation")}
    roles = {"system": _("System"), "user": _("User"), "assistant": _("Assistant")}
    return {
        f"{slot.name}_enabled": Setting(
            bool, True, _("In the prompt"), {}, _("Off: it is kept, but the model doesn’t read it.")
        ),
        f"{slot.name}_budget": Setting(
            int, slot.budget, _("Tokens"), {"low": 0, "high": MAX_BUDGET}, _("The most that it may take.")
        ),
        f"{slot.name}_position": Setting(
            str, slot.position, _("Position"), {"choices": places}, _("Before all messages, or among the last ones.")
        ),
        f"{slot.name}_depth": Setting(
            int,
            slot.depth,
            _("Depth"),
            {"low": 0, "high": 10_000},
            _("Among the messages: how many follow it. Before them: its place in the order."),
        ),
        f"{slot.name}_role": Setting(
            str, slot.role, _("Role"), {"choices": roles}, _("As whose message the model reads it.")
        ),
        f"{slot.name}_template": Setting(
            str, slot.template, _("Template"), {}, _("Its text; {{entries}} is where the memories stand.")
        ),
    }


SIMPLE_SETTINGS = ("mode", "total_budget", "adaptive", "auto_tune")
SLOT_ABOUT = {
    "canon": _("The history of a character as told so far, in one text."),
    "short_term": _("What happened in messages that no longer fit the context."),
    "profiles": _("How each character is at present."),
    "long_term": _("What a character keeps from all chats."),
    "scenes": _("Earlier scenes of the chat, in a few sentences each."),
    "relationships": _("How two people stand to each other."),
    "triggered": _("What the message that you just wrote calls to mind."),
    "session": _("What only this chat needs."),
    "arcs": _("Threads of the story that are still open."),
    "epistemic": _("What a character knows, suspects or hides, and from whom."),
    "state_ledger": _("Where everybody is, and what they have."),
    "repair": _("A note to the model after a reply that contradicts what is known."),
    "unified": _("All of the above as one text, if you chose one block."),
}
SLOT_FIELDS = ("enabled", "budget", "position", "depth", "role", "template")
SETTINGS = GENERAL | {name: setting for slot in ALL_SLOTS for name, setting in _slot_settings(slot).items()}


@dataclass(frozen=True)
class Settings:
    """The settings that apply to one chat. ``slots`` are the configured slots by name."""

    mode: str
    total_budget: int
    adaptive: bool
    auto_tune: bool
    refresh_period: int
    recap_hours: int
    force_macros: bool
    memory_tools: bool
    slots: Mapping[str, Slot]

    def values(self) -> dict[str, Any]:
        """Return the value of every setting by its name."""
        general = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "slots"}
        return general | {
            f"{slot.name}_{field}": getattr(slot, field) for slot in self.slots.values() for field in SLOT_FIELDS
        }


def resolve(documents: Iterable[Mapping[str, Any]]) -> Settings:
    """Return the settings that result from ``documents``, the most general first."""
    values = {name: setting.default for name, setting in SETTINGS.items()}
    for document in documents:
        values |= {name: value for name, value in document.items() if name in SETTINGS}
    slots = {
        slot.name: replace(slot, **{field: values[f"{slot.name}_{field}"] for field in SLOT_FIELDS})
        for slot in ALL_SLOTS
    }
    return Settings(**{name: values[name] for name in GENERAL}, slots=slots)


def validate(document: Mapping[str, Any]) -> None:
    """Raise Invalid, with a pointer to each wrong value, if a document can't be stored."""
    check_values(document, {name: partial(Setting.error, setting) for name, setting in SETTINGS.items()})
