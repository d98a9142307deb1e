"""Recognise instructions after a reply that ask for another one, or to continue it. Nothing here reads the database."""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from itertools import takewhile
from typing import Any

from apps.proxy.requests.texts import GAP, normalized
from apps.proxy.requests.turns import INSTRUCTION_ROLES, Turn, text_of

MAX_NUDGE = 80  # characters besides a quoted reply; what asks for a summary or a picture is longer
MAX_QUOTING_NUDGE = 250
# SillyTavern's: "[Continue your last message without ...]", and until 2024 "[Continue the following message. ...]"
# with the message at its end. In groups it says "[Write the next reply only as ...]".
NEXT_REPLY = re.compile(r"\[\s*write the next reply only as (?P<name>[^\]\n]+?)\.?\s*\]", re.IGNORECASE)
CONTINUE = re.compile(r"\[\s*continue\b[^\n]{0,40}\b(message|reply|response)\b", re.IGNORECASE)


class Nudge(Enum):
    """What an instruction asks for: a message of its own, or more of the last one."""

    NEXT_REPLY = "next reply"
    CONTINUATION = "continuation"


def nudge_of(
    messages: Sequence[Mapping[str, Any]],
    turns: Sequence[Turn],
    are_usual: Callable[[Sequence[str]], bool] = lambda paragraphs: False,
) -> Nudge | None:
    """Return what the instructions at the end ask for, or None if there are none or they ask for something else.

    A nudge stands in brackets and is short. One that asks to continue may quote the reply, and instructions for every
    reply, such as SillyTavern's post-history instructions, may follow it. Behind another nudge, they may be a request
    of the client's own, unless ``are_usual`` says that it has sent these paragraphs before.
    """
    instructions = trailing_instructions(messages)
    if not instructions or not turns:
        return None
    following = after_next_reply(messages)
    if turns[-1].is_user:
        return Nudge.NEXT_REPLY if following is not None and not any(map(CONTINUE.match, instructions)) else None
    if any(_asks_to_continue(text, turns[-1]) for text in instructions):
        return Nudge.CONTINUATION
    if following is not None:
        return Nudge.NEXT_REPLY if not following or are_usual(following) else None
    last = instructions[0]
    return Nudge.NEXT_REPLY if _is_in_brackets(last) and len(last) <= MAX_NUDGE else None


def ends_with_instruction(messages: Sequence[Mapping[str, Any]], turns: Sequence[Turn]) -> bool:
    """Return whether the messages end with an instruction after a reply."""
    return messages[-1]["role"] in INSTRUCTION_ROLES and bool(turns) and not turns[-1].is_user


def trailing_instructions(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the texts of the instructions after the last turn, the last one first."""
    trailing = takewhile(lambda message: message["role"] in INSTRUCTION_ROLES, reversed(messages))
    return [text_of(message).strip() for message in trailing]


def after_next_reply(messages: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """Return the paragraphs after the instruction at the end that tells who replies next, or None without one."""
    paragraphs = GAP.join(reversed(trailing_instructions(messages))).split(GAP)
    places = [place for place, paragraph in enumerate(paragraphs) if NEXT_REPLY.fullmatch(paragraph.strip())]
    return paragraphs[places[-1] + 1 :] if places else None


def naming_instruction(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the instruction at the end which may name the next speaker, or nothing.

    An instruction to continue names nobody, or whom the quoted reply names: what counts is before it, or before the
    reply that is to be continued. Post-history instructions stand after it.
    """
    trailing = trailing_instructions(messages)
    others = [text for text in trailing if not CONTINUE.match(text)]
    if trailing and not others:
        return naming_instruction(messages[: -len(trailing) - 1])
    return next(filter(NEXT_REPLY.search, others), next(iter(others), ""))


def _is_in_brackets(text: str) -> bool:
    return text.startswith("[") and text.endswith("]")


def _asks_to_continue(text: str, turn: Turn) -> bool:
    """Return whether an instruction asks for more of the reply ``turn``, and, besides quoting it, for nothing else."""
    if not _is_in_brackets(text) or not CONTINUE.match(text):
        return False
    return len(normalized(text).replace(normalized(turn.text), "", 1)) <= MAX_QUOTING_NUDGE
