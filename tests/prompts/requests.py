"""Prompts asked for in one call."""

from typing import Any

from apps.chats.models import Chat
from apps.prompts.assembly import prompt
from apps.prompts.assembly.prompt import Prompt
from apps.prompts.assembly.requests import PromptRequest, Reply


def assemble(chat: Chat, *, with_history: bool, keep_recall: bool = False, **fields: Any) -> Prompt:
    """Return what is remembered for a turn, and the conversation if it is asked for."""
    return prompt.assemble(PromptRequest(chat=chat, has_history=with_history, again=keep_recall, **fields))


def assemble_whole(chat: Chat, *, without_last: bool = False, **fields: Any) -> Prompt:
    """Return the whole prompt of a reply."""
    reply: dict[str, Any] = {name: fields.pop(name) for name in ("preset", "instruction", "for_user") if name in fields}
    reply["tokens"] = fields.pop("reply_tokens", 0)
    return prompt.assemble(PromptRequest(chat=chat, reply=Reply(**reply), again=without_last, **fields))
