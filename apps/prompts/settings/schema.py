"""Every setting of the prompt: default, range, label and help. Without database access.

A document holds only the settings that differ from the defaults. Those of a slot are named after it, such as
``long_term_budget``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.common.settings.declarations import Group, Schema, Setting, declared, setting
from apps.common.words import Words
from apps.prompts.slots.blocks import template_error
from apps.prompts.slots.definitions import ALL_SLOTS, IN_CHAT, IN_PROMPT, Slot

IN_GENERAL = Group(_("In general"))
SELDOM = Group(_("More in general"), _("The opening recap, the provider’s cache, and templates of other programs."))
MAX_BUDGET = 1_000_000
MAX_TEMPLATE_LENGTH = 4000  # characters

SIMPLE, ADVANCED, ONE_BLOCK, BY_MACROS = "simple", "advanced", "unified", "macros"


@dataclass(frozen=True)
class PromptSettings:
    """The settings that apply to one chat. ``slots`` are the configured slots by name."""

    mode: str = setting(
        ADVANCED,
        IN_GENERAL,
        _("Room for memory"),
        _(
            "How the room for memory is divided. A card asks for it by a word in double braces, a macro, such as "
            "{{smartmemory-longterm}}."
        ),
        choices={
            SIMPLE: _("One budget for everything"),
            ADVANCED: _("A budget for each kind"),
            ONE_BLOCK: _("One block before the conversation"),
            BY_MACROS: _("Only where your card asks for it"),
        },
    )
    total_budget: int = setting(
        3750,
        IN_GENERAL,
        _("Total"),
        _("Tokens for all kinds, with one budget for everything. The summary has a budget of its own."),
        low=0,
        high=MAX_BUDGET,
    )
    adaptive: bool = setting(
        True,
        IN_GENERAL,
        _("Follow the turn"),
        _("What is recalled depends on what is going on: a fight gets other budgets than a talk."),
    )
    auto_tune: bool = setting(
        False, IN_GENERAL, _("Tune budgets"), _("Budgets grow to what the chat has needed, plus 15 %.")
    )
    refresh_period: int = setting(
        1,
        SELDOM,
        _("Refresh every"),
        _(
            "Turns for which new entries wait before they join the blocks before the conversation. The provider's "
            "cache keeps these blocks meanwhile. What a person changes joins at once."
        ),
        low=1,
        high=1000,
    )
    recap_hours: int = setting(
        4,
        SELDOM,
        _("Recap after"),
        _("Hours without a change after which the chat opens with what happened before. 0: never."),
        low=0,
        high=8760,
    )
    force_macros: bool = setting(
        False,
        SELDOM,
        _("Wait for macros"),
        _("Memory stands only where a macro of the card or of a template of another program places it."),
    )
    memory_tools: bool = setting(
        False,
        SELDOM,
        _("Let the model look things up"),
        _(
            "While it writes, the model may search this memory itself, in up to three rounds. Each round is another "
            "call of it. It needs a model that can call tools."
        ),
    )
    slots: Mapping[str, Slot] = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        """Return the value of every setting by its name."""
        return {name: getattr(self, name) for name in GENERAL} | {
            f"{slot.name}_{field}": getattr(slot, field) for slot in self.slots.values() for field in SLOT_FIELDS
        }


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
SLOT_GROUPS = {slot.name: Group(slot.label, SLOT_ABOUT[slot.name]) for slot in ALL_SLOTS}
SLOT_FIELDS = ("enabled", "budget", "position", "depth", "role", "template")


def _slot_settings(slot: Slot) -> list[Setting]:
    places = {IN_PROMPT: _("Before the conversation"), IN_CHAT: _("Within the conversation")}
    roles = {"system": _("System"), "user": _("User"), "assistant": _("Assistant")}

    def of_slot(name: str, kind: type, label: Words, help: Words, **options: Any) -> Setting:
        default = getattr(slot, name)
        return Setting(f"{slot.name}_{name}", kind, default, SLOT_GROUPS[slot.name], label, help, **options)

    return [
        of_slot("enabled", bool, _("In the prompt"), _("Off: it is kept, but the model doesn’t read it.")),
        of_slot("budget", int, _("Tokens"), _("The most that it may take."), low=0, high=MAX_BUDGET),
        of_slot("position", str, _("Position"), _("Before all messages, or among the last ones."), choices=places),
        of_slot(
            "depth",
            int,
            _("Depth"),
            _("Among the messages: how many follow it. Before them: its place in the order."),
            low=0,
            high=10_000,
        ),
        of_slot("role", str, _("Role"), _("As whose message the model reads it."), choices=roles),
        of_slot(
            "template",
            str,
            _("Template"),
            _("Its text; {{entries}} is where the memories stand."),
            check=_template_error,
        ),
    ]


def _template_error(template: str) -> str | None:
    """Return what is wrong with the template of a slot, or None."""
    if len(template) > MAX_TEMPLATE_LENGTH:
        return gettext("It must have at most %(max_template_length)s characters.") % {
            "max_template_length": MAX_TEMPLATE_LENGTH
        }
    return gettext("It must not contain the character NUL.") if "\x00" in template else template_error(template)


GENERAL = Schema(declared(PromptSettings))
SETTINGS = Schema([*GENERAL.values(), *(setting for slot in ALL_SLOTS for setting in _slot_settings(slot))])
validate = SETTINGS.validate


def resolve(documents: Iterable[Mapping[str, Any]]) -> PromptSettings:
    """Return the settings that result from ``documents``, the most general first."""
    values = SETTINGS.defaults() | SETTINGS.merged(documents)
    slots = {
        slot.name: replace(slot, **{field: values[f"{slot.name}_{field}"] for field in SLOT_FIELDS})
        for slot in ALL_SLOTS
    }
    return PromptSettings(**{name: values[name] for name in GENERAL}, slots=slots)
