"""Recognise instructions after a reply that ask for another one, or to continue it. Nothing here reads the database."""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from apps.proxy.conversation import INSTRUCTION_ROLES, Turn, normalized, text_of

MAX_NUDGE = 80  # characters besides a quoted reply; what asks for a summary or a picture is longer
MAX_QUOTING_NUDGE = 250
# SillyTavern's: "[Continue your last message without ...]", and until 2024 "[Continue the following message. ...]"
# with the message at its end. In groups it says "[Write the next reply only as ...]".
CONTINUE = re.compile(r"\[\s*continue\b[^\n]{0,40}\b(message|reply|response)\b", re.IGNORECASE)


class Nudge(Enum):
    """What an instruction asks for: a message of its own, or more of the last one."""

    NEXT_REPLY = "next reply"
    CONTINUATION = "continuation"


def nudge_of(messages: Sequence[Mapping[str, Any]], turns: Sequence[Turn]) -> Nudge | None:
    """Return what the instruction after a reply asks for, or None if there is none or it asks for something else.

    A nudge stands in brackets and is short. One that asks to continue may quote the reply.
    """
    text = text_of(messages[-1]).strip()
    if not ends_with_instruction(messages, turns) or not (text.startswith("[") and text.endswith("]")):
        return None
    if CONTINUE.match(text) and len(_without_quote(text, turns[-1])) <= MAX_QUOTING_NUDGE:
        return Nudge.CONTINUATION
    return Nudge.NEXT_REPLY if len(text) <= MAX_NUDGE else None


def ends_with_instruction(messages: Sequence[Mapping[str, Any]], turns: Sequence[Turn]) -> bool:
    """Return whether the messages end with an instruction after a reply."""
    return messages[-1]["role"] in INSTRUCTION_ROLES and bool(turns) and not turns[-1].is_user


def _without_quote(text: str, turn: Turn) -> str:
    return normalized(text).replace(normalized(turn.text), "", 1)


def naming_instruction(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the instruction at the end which may name the next speaker, or nothing.

    That is the one before an instruction to continue, which names nobody, or whom the quoted reply names.
    """
    trailing: list[str] = []
    for message in reversed(messages):
        if message["role"] not in INSTRUCTION_ROLES:
            break
        trailing.append(text_of(message))
    return next((text for text in trailing if not CONTINUE.match(text.strip())), "")
