"""Register how the next prompt of a chat is previewed, and preview it.

How much room memory has depends on the rest of the prompt, which an app above this one knows.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from apps.chats.models import Chat
from apps.chats.queries.replying import reply_context

if TYPE_CHECKING:
    from apps.prompts.assembly.prompt import PromptMemory
    from apps.prompts.settings.schema import PromptSettings

# Called with a chat and injection settings that need not be stored. Stores nothing. Raises Invalid.
Preview = Callable[[Chat, "PromptSettings"], "PromptMemory"]


def preview_alone(chat: Chat, settings: "PromptSettings") -> "PromptMemory":
    """Return the memory of the next prompt if nothing else stands in it."""
    from apps.prompts.assembly.prompt import assemble
    from apps.prompts.assembly.requests import PromptRequest

    context_tokens = reply_context(chat)
    request = PromptRequest(chat=chat, context_tokens=context_tokens, settings=settings, leave_trace=False)
    return assemble(request).memory


_previews: list[Preview] = [preview_alone]


def register_preview(preview: Preview) -> None:
    """Register ``preview``, which replaces the one before."""
    _previews[:] = [preview]


def preview_memory(chat: Chat, settings: "PromptSettings") -> "PromptMemory":
    """Return the memory of the chat's next prompt with ``settings``. Raise Invalid."""
    return _previews[0](chat, settings)
