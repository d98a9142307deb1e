"""Read the messages that a client of mem0 adds."""

import datetime as dt
from typing import Any

from django.utils import timezone

from apps.chats.dates import timestamp
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import Chat
from apps.common.problems import Invalid

USER, ASSISTANT, SYSTEM = "user", "assistant", "system"
ROLES = (USER, ASSISTANT, SYSTEM)
OTHER_NAMES = {"developer": SYSTEM}  # of roles, in newer APIs of models
RESULTS_OF_TOOLS = ("tool", "function")
# Parts of a content that nobody says.
UNSAID = ("tool_use", "tool_result", "thinking", "redacted_thinking")


def read_messages(value: Any) -> list[dict[str, Any]]:
    """Return messages with ``role``, ``content`` as a text, and ``name``. Raise Invalid.

    The history of a program that uses tools has calls of them and their results. Nobody says those: they are left out.
    """
    if isinstance(value, str):
        value = {"role": USER, "content": value}
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list) or not value or len(value) > 1000:
        raise Invalid.at("/messages", "It must be a list of 1 to 1000 messages.")
    messages = [_message(item, f"/messages/{number}") for number, item in enumerate(value)]
    said = [message for message in messages if message is not None]
    if not said:
        raise Invalid.at("/messages", "None of them has a text.")
    return said


def _message(item: Any, pointer: str) -> dict[str, Any] | None:
    """Return a message, or None if nobody says it. Raise Invalid."""
    if not isinstance(item, dict):
        raise Invalid.at(pointer, "It must be an object with role and content.")
    role, name, content = item.get("role", USER), item.get("name") or "", _without_unsaid(item.get("content"))
    role = OTHER_NAMES.get(role, role) if isinstance(role, str) else role
    if role in RESULTS_OF_TOOLS or (role == ASSISTANT and _is_empty(content)) or content == []:
        return None
    if role not in ROLES:
        raise Invalid.at(f"{pointer}/role", f"It must be one of: {', '.join(ROLES)}.")
    if not isinstance(name, str):
        raise Invalid.at(f"{pointer}/name", "It must be a text.")
    return {"role": role, "name": name[:200], "content": _text(content, f"{pointer}/content")}


def _without_unsaid(content: Any) -> Any:
    """Return a content without the parts that nobody says."""
    if not isinstance(content, list):
        return content
    return [part for part in content if not (isinstance(part, dict) and part.get("type") in UNSAID)]


def _is_empty(content: Any) -> bool:
    """Return whether a content is none, as beside a call of a tool, or where a reply was ended before its beginning."""
    return content is None or (isinstance(content, str) and not content.strip())


def _text(content: Any, pointer: str) -> str:
    """Return the text of a content, which may be a list of parts. Pictures and files are refused, not left out."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = []
    for number, part in enumerate(parts):
        text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
        if not isinstance(text, str):
            detail = "It must be a text: pictures and files are not supported."
            raise Invalid.at(f"{pointer}/{number}" if isinstance(content, list) else pointer, detail)
        texts.append(text)
    text = "\n".join(texts)
    if not text.strip():
        raise Invalid.at(pointer, "It must contain more than white space.")
    return text


def parsed_message(message: dict[str, Any], chat: Chat, at: dt.datetime | None) -> ParsedMessage:
    """Return a message as the chat stores it."""
    at, is_user = at or timezone.now(), message["role"] == USER
    character = chat.character.name if chat.character else "Assistant"
    return ParsedMessage(
        name=message["name"] or ((chat.user_name or "User") if is_user else character),
        is_user=is_user,
        is_system=message["role"] == SYSTEM,
        send_date=timestamp(at),
        sent_at=at,
        swipe_id=0,
        swipes=(ParsedSwipe(message["content"]),),
        layout="",
    )
