"""Render memories as text blocks by templates, and split a text into such blocks."""

import re
from collections.abc import Iterable, Mapping, Sequence

from django.utils.translation import gettext

from apps.chats.macros import macros_in, resolve_macros
from apps.prompts.slots.definitions import ENTRIES, RECALLED, TRIGGERED, Slot, in_all_languages

SEPARATOR = "\n\n"
SEPARATOR_TOKENS = 3  # at most
PLACEHOLDERS = {"entries", "char", "user"}
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# Tokens by which templates of chats mark roles and turns: "<|im_start|>", "<start_of_turn>", "</s>", "[INST]" …
_ROLE_TOKEN = re.compile(r"<(?=[|｜]|/?s>|<?/?SYS>|(?:start|end)_of_turn>|[be]os>)|\[(?=/?INST\])", re.IGNORECASE)


def one_line(text: str) -> str:
    """Return ``text`` without line breaks, control characters and the tokens of roles.

    So text from a chat can't be mistaken for a heading, for another entry or for the message of another role.
    """
    if "<" in text or "[" in text:
        text = _ROLE_TOKEN.sub(lambda match: "‹" if match[0] == "<" else "⟦", text)
    if text.isprintable() and "  " not in text:  # as nearly all texts are: their only white space is single spaces
        return text.strip()
    return " ".join(_CONTROL_CHARACTERS.sub(" ", text).split())


def render_block(slot: Slot, entries: Sequence[str], names: Mapping[str, str]) -> str:
    """Return the slot's template with the entries, or an empty string if there are none.

    ``names`` are the values of the other placeholders, ``char`` and ``user``.
    """
    lines = [line for line in map(one_line, entries) if line]
    rendered = " ".join(lines) if slot.prose else "\n".join(f"- {line}" for line in lines)
    return resolve_macros(slot.template, {**_inline(names), "entries": rendered}).strip() if lines else ""


def heading_of(slot: Slot, names: Mapping[str, str]) -> str:
    """Return the slot's heading as it stands in its block."""
    return resolve_macros(slot.heading, _inline(names))


def _inline(names: Mapping[str, str]) -> dict[str, str]:
    return {name: one_line(value) for name, value in names.items()}


def template_error(template: str) -> str | None:
    """Return why a text is no template of a slot, or None."""
    count = sum(name == "entries" for name in re.findall(r"\{\{\s*(\w+)\s*\}\}", template.lower()))
    if count != 1:
        return gettext("It must contain %(entries)s once.") % {"entries": ENTRIES}
    if unknown := sorted(macros_in([template]) - PLACEHOLDERS):
        return gettext("There is no placeholder {{%(value)s}}; there are {{entries}}, {{char}} and {{user}}.") % {
            "value": unknown[0]
        }
    if re.search(r"\{\{|\}\}", re.sub(r"\{\{\s*\w+\s*\}\}", "", template)):
        return gettext("It has braces without a placeholder, such as {{ without }}.")
    return None


def join_blocks(blocks: Iterable[str]) -> str:
    """Return the non-empty blocks as one text."""
    return SEPARATOR.join(block for block in blocks if block)


def split_blocks(text: str, headings: Mapping[str, str], default: str) -> dict[str, str]:
    """Split a text of joined blocks, which a user may have edited. Return the blocks by slot name.

    ``headings`` maps headings, whose last line is looked for, to slot names. Lines before the first heading belong to
    the slot ``default``.
    """
    names = {heading.splitlines()[-1].strip(): name for heading, name in headings.items() if heading}
    lines: dict[str, list[str]] = {}
    current = default
    for line in text.splitlines():
        current = names.get(line.strip(), current)
        lines.setdefault(current, []).append(line)
    return {name: "\n".join(block).strip() for name, block in lines.items()}


def blocks_of_text(slots: Mapping[str, Slot], names: Mapping[str, str], text: str) -> dict[str, str]:
    """Return the blocks of a recall's text by slot name. What has no heading stands in a slot that is on, if any is."""
    headings = {
        heading_of(one, names): slot.name for slot in RECALLED for one in in_all_languages(slots[slot.name])
    }  # the chat may have been in another language when the text was made
    enabled = [slot.name for slot in (TRIGGERED, *RECALLED) if slots[slot.name].enabled]
    return split_blocks(text, headings, enabled[0] if enabled else TRIGGERED.name)


def unused_slots(slots: Mapping[str, Slot], names: Mapping[str, str], text: str) -> list[Slot]:
    """Return the slots for which a recall's text has a block, but which are switched off."""
    blocks = blocks_of_text(slots, names, text)
    return [slots[slot.name] for slot in RECALLED if blocks.get(slot.name) and not slots[slot.name].enabled]
