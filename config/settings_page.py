"""`docs/settings.md`, from the declared settings; run as a program, it prints the page."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import django
from django.utils import translation

from apps.common.settings.declarations import Schema, Setting, in_digits
from apps.extraction.settings.schema import SETTINGS as MEMORY
from apps.prompts.settings.schema import GENERAL, SLOT_FIELDS
from apps.prompts.settings.schema import SETTINGS as PROMPT
from apps.prompts.slots.definitions import ALL_SLOTS

INTRODUCTION = """
# Settings of memory and prompt

What a user can set for all chats, for a character or for one chat: on pages, or by the API. A character's settings go
before the user's, and a chat's before both. What nobody has set has its default; some defaults are others for large
models. `PATCH` sets those in its body; `null` resets one.

The settings of the installation are in [configuration.md](configuration.md).
"""
MEMORY_INTRODUCTION = """
## Memory

`/api/v1/memory-settings/`, `/api/v1/characters/{id}/memory-settings/` and `/api/v1/chats/{id}/memory-settings/`.
"""
PROMPT_INTRODUCTION = """
## The prompt

`/api/v1/injection-settings/`, `/api/v1/characters/{id}/injection-settings/` and
`/api/v1/chats/{id}/injection-settings/`.
"""
SLOTS_INTRODUCTION = """
### Slots

Each slot has settings that begin with its name, such as `canon_budget`; [prompt.md](prompt.md) says what it holds.
"""
HEADER = ("| setting | default | values | what it does |", "|---|---|---|---|")


def page() -> str:
    """Return the page in Markdown."""
    with translation.override("en"):
        parts = [INTRODUCTION, MEMORY_INTRODUCTION, *_sections(MEMORY), PROMPT_INTRODUCTION, *_sections(GENERAL)]
        parts += [SLOTS_INTRODUCTION, table(_of_any_slot()), _defaults_of_slots()]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _sections(settings: Schema) -> Iterator[str]:
    for group, names in settings.groups.items():
        yield "\n\n".join(filter(None, [f"### {group.title}", str(group.about)]))
        yield table(settings[name] for name in names)


def _of_any_slot() -> Iterator[Setting]:
    for field in SLOT_FIELDS:
        of_slots = [PROMPT[f"{slot.name}_{field}"] for slot in ALL_SLOTS]
        same = len({setting.default for setting in of_slots}) == 1
        yield replace(of_slots[0], name=f"SLOT_{field}", default=of_slots[0].default if same else None)


def _defaults_of_slots() -> str:
    fields = [setting.name.removeprefix("SLOT_") for setting in _of_any_slot() if setting.default is None]
    rows = [f"| slot | {' | '.join(fields)} |", "|---" * (len(fields) + 1) + "|"]
    for slot in ALL_SLOTS:
        defaults = [_in_words(PROMPT[f"{slot.name}_{field}"].default) for field in fields]
        rows.append(f"| `{slot.name}` | {' | '.join(defaults)} |")
    return "\n".join(rows)


def table(settings: Iterable[Setting]) -> str:
    """Return a table of settings in Markdown."""
    return "\n".join([*HEADER, *map(_row, settings)])


def _row(setting: Setting) -> str:
    default = _in_words(setting.default)
    if setting.large is not None:
        default += f"; {_in_words(setting.large)} for large models"
    about = f"**{setting.label}**. {setting.help}".strip()
    return f"| `{setting.name}` | {default} | {_allowed(setting)} | {about} |".replace("|  |", "| |")


def _in_words(value: Any) -> str:
    """Return a value as it is written in JSON, or an empty string for None."""
    if isinstance(value, str | bool):
        return f"`{json.dumps(value, ensure_ascii=False)}`"
    return "" if value is None else in_digits(value)


def _allowed(setting: Setting) -> str:
    if setting.kind is bool:
        return "`true`, `false`"
    if setting.choices is not None:
        return "; ".join(f"`{value}`: {label}" for value, label in setting.choices.items())
    if setting.kind is str:
        return "a text"
    return f"{in_digits(setting.low)} to {in_digits(setting.high)}"


if __name__ == "__main__":
    django.setup()
    print(page(), end="")
