"""Injection settings of users, characters and chats, and the plan of a prompt that follows from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.chats.languages import catalogue_of
from apps.chats.models import Character, Chat
from apps.chats.queries.replying import reply_token_counter
from apps.common.scoping import Owner
from apps.extraction.settings.stores import SettingsStore
from apps.prompts.models import InjectionSettings
from apps.prompts.settings.schema import ONE_BLOCK, SETTINGS, SIMPLE, Settings, resolve
from apps.prompts.slots.allocation import divided, scaled, tuned
from apps.prompts.slots.blocks import SEPARATOR_TOKENS
from apps.prompts.slots.definitions import SLOTS, UNIFIED, UNIFIED_ORDER, in_language
from apps.prompts.slots.plan import Plan
from apps.prompts.slots.turn_class import adapted_budgets
from apps.prompts.statistics import demands_of

INJECTION_SETTINGS = SettingsStore(InjectionSettings, SETTINGS)


@dataclass(frozen=True)
class BudgetStep:
    """Budgets of the slots in tokens by name, and the rule that made them: "share", "tuning", "turn" or ""."""

    rule: str
    budgets: Mapping[str, int]


def settings_of(chat: Chat) -> Settings:
    """Return the settings that apply to a chat, from defaults, its owner, its character and itself."""
    return resolve(INJECTION_SETTINGS.documents(chat.owner_id, chat.character_id, chat))


def settings_of_owner(owner: Owner, character: Character | None = None) -> Settings:
    """Return the settings that apply to all chats of an owner, or of one of their characters."""
    return resolve(INJECTION_SETTINGS.documents(owner, character))


def plan_for(
    chat: Chat, character: Character | None, turn_class: str, settings: Settings, context_tokens: int | None = None
) -> Plan:
    """Return the plan of a prompt of the chat for a turn of this class."""
    language = catalogue_of(chat)
    return Plan(
        slots={name: in_language(slot, language) for name, slot in settings.slots.items()},
        budgets=_within_one_block(budget_steps(chat, settings, turn_class)[-1].budgets, settings),
        names=chat.names_for(character),
        count=reply_token_counter(chat),
        context_tokens=context_tokens,
    )


def budget_steps(chat: Chat, settings: Settings, turn_class: str) -> list[BudgetStep]:
    """Return the budgets that are set, then after each rule that changes them."""
    simple = settings.mode == SIMPLE
    steps = [BudgetStep("", {slot.name: settings.slots[slot.name].budget for slot in SLOTS})]
    if simple:
        steps.append(BudgetStep("share", {**steps[-1].budgets, **divided(settings.total_budget)}))
    if settings.auto_tune:
        defaults = {slot.name: slot.budget for slot in SLOTS}
        total = settings.total_budget if simple else None
        steps.append(BudgetStep("tuning", tuned(steps[-1].budgets, defaults, demands_of(chat), total)))
    if settings.adaptive:
        steps.append(BudgetStep("turn", adapted_budgets(turn_class, steps[-1].budgets)))
    return steps


def _within_one_block(budgets: Mapping[str, int], settings: Settings) -> Mapping[str, int]:
    """Return the budgets; in unified mode, those of the parts reduced to what the one block has room for."""
    parts = {slot.name: budgets[slot.name] for slot in UNIFIED_ORDER}
    room = max(settings.slots[UNIFIED.name].budget - SEPARATOR_TOKENS * len(parts), 0)
    if settings.mode != ONE_BLOCK or sum(parts.values()) <= room:
        return budgets
    return {**budgets, **scaled(parts, room / sum(parts.values()))}


def on_characters_merged(*, character: Character, into: Character, **kwargs: Any) -> None:
    """Receive ``characters_merged``: move the settings of ``character`` if ``into`` has none of its own."""
    INJECTION_SETTINGS.move(character, into)
