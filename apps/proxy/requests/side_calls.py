"""Recognise calls that a client makes for itself: titles, tags, summaries. Nothing here reads the database.

They come before the first turn too: a client may ask what to search for before it asks for a reply.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apps.proxy.requests.nudges import Nudge, ends_with_instruction
from apps.proxy.requests.texts import normalized
from apps.proxy.requests.turns import Turn

MAX_TOKENS_OF_SIDE_CALL = 64  # replies of a conversation are longer
MIN_QUOTED = 20  # characters; shorter messages may be quoted by chance

# Open WebUI's prompts: a heading, then what to do, and the chat at the end. Persons use such headings too.
HEADED = re.compile(r"\s*#{1,6} *task\b", re.IGNORECASE)
HEADED_PARTS = re.compile(r"<chat_history>|^#{1,6} *chat history\b", re.I | re.M)
# LibreChat's, Chatbox's, Cherry Studio's and others': what to make of a conversation, and that conversation.
WANTED = r"titles?|names?|headlines?|topics?|tags|keywords|summary|search quer(?:y|ies)|quer(?:y|ies)|follow[- ]?ups?"
MADE = re.compile(
    rf"\b(?:generate|create|write|provide|give|suggest|make|propose|summari[sz]e|analy[sz]e|determine|rephrase|name)\b"
    rf"[^\n]{{0,160}}\b(?:{WANTED}|standalone question)\b",
    re.IGNORECASE,
)
OF_A_CHAT = re.compile(r"\b(?:chat|conversation|dialog(?:ue)?)\b", re.IGNORECASE)
TRANSCRIPT = re.compile(
    r"^\W{0,3}(?:user|human|assistant|ai|ai assistant|model|bot)\W{0,3}:"
    r"|</?(?:chat_history|conversation|chat|messages)>|\"role\" *: *\"(?:user|assistant)\"",
    re.IGNORECASE | re.MULTILINE,
)
# SillyTavern's extensions, where post-processing has made their system message a user's.
QUIET = re.compile(
    r"\W{0,3}(?:pause your roleplay\b|ignore previous instructions?\. *summari[sz]e\b"
    r"|in the next response i want you to provide only\b)",
    re.IGNORECASE,
)
BEGINNING = 2_000  # characters in which a task says what it wants


def is_side_call(body: Mapping[str, Any], turns: Sequence[Turn], nudge: Nudge | None) -> bool:
    """Return whether the request itself shows that it is no turn of a conversation.

    It asks for a format or for very few tokens, has no user's turn, sets a task in its only or, besides the chat, its
    last one, or ends with an instruction after a reply that is no ``nudge``.
    """
    limits = [body.get(name) for name in ("max_tokens", "max_completion_tokens")]
    is_tiny = any(type(limit) is int and 0 < limit <= MAX_TOKENS_OF_SIDE_CALL for limit in limits)
    response_format = body.get("response_format")
    is_formatted = isinstance(response_format, dict) and response_format.get("type") != "text"
    messages = body["messages"]
    is_instruction = ends_with_instruction(messages, turns) and nudge is None
    said = [turn.text for turn in turns if turn.is_user]
    if not said:
        return True
    sets_task = is_task(said[-1]) if len(turns) == 1 else turns[-1].is_user and is_quiet_prompt(said[-1])
    return is_tiny or is_formatted or is_instruction or sets_task


def quotes_a_chat(turns: Sequence[Turn], latest_texts: Iterable[Sequence[str]]) -> bool:
    """Return whether the only turn quotes a chat, as requests for titles do. ``latest_texts`` are of each chat."""
    if len(turns) != 1:
        return False
    text = normalized(turns[0].text)
    for texts in latest_texts:
        quoted = [normalized(latest) for latest in texts]
        if len(quoted) > 1 and all(quote in text for quote in quoted) and sum(map(len, quoted)) >= MIN_QUOTED:
            return len(text) > sum(map(len, quoted))
    return False


def is_task(text: str) -> bool:
    """Return whether a turn is a task for the client's own use, such as a title or words to search for.

    That is certain only of one that has the client's own headings, or a conversation besides what to make of it.
    """
    beginning = text[:BEGINNING]
    if heading := HEADED.match(beginning):
        return bool(HEADED_PARTS.search(text, heading.end()))
    transcript = TRANSCRIPT.search(text)
    wish = beginning[: transcript.start()] if transcript else ""
    return bool(MADE.search(wish)) and bool(OF_A_CHAT.search(wish))


def is_quiet_prompt(text: str) -> bool:
    """Return whether a turn is what an extension of SillyTavern asks besides the chat that it comes with."""
    return bool(QUIET.match(text))
