"""The whole prompt of a chat's next reply, for pages. Nothing is stored."""

from dataclasses import replace

from apps.chats.models import Chat
from apps.chats.queries.replying import reply_connection, reply_context
from apps.prompts.assembly.prompt import Prompt, PromptMemory, assemble
from apps.prompts.assembly.requests import PromptRequest, Reply
from apps.prompts.pages.context_map import ContextMap, context_map
from apps.prompts.settings.schema import PromptSettings
from apps.prompts.turns import visible_messages
from apps.replies.models import Generation, GenerationPreset
from apps.replies.presets import preset_or_default, reply_tokens_of
from apps.replies.speakers import next_speaker
from apps.replies.tools.toolbox import are_offered, room_for


def preview_prompt(chat: Chat, settings: PromptSettings | None = None) -> Prompt:
    """Return the prompt of the next reply: by the next speaker, with the preset that the chat page selects.

    ``settings`` replace those of the chat. Raise Invalid.
    """
    preset = _selected_preset(chat)
    context_tokens = reply_context(chat)
    request = PromptRequest(
        chat=chat,
        character=next_speaker(chat, None)[1],
        reply=Reply(preset=preset, tokens=reply_tokens_of(preset, context_tokens)),
        context_tokens=context_tokens - _reserved_for_tools(chat),
        settings=settings,
        leave_trace=False,
    )
    return assemble(request)


def _reserved_for_tools(chat: Chat) -> int:
    """Return how many tokens of the context a reply leaves free for what the model looks up."""
    connection = reply_connection(chat)
    return room_for(connection) if connection and are_offered(chat, connection) else 0


def map_of(chat: Chat, prompt: Prompt) -> ContextMap:
    """Return what the model's context is filled with by the prompt that ``preview_prompt`` returned."""
    context_tokens = reply_context(chat)
    reply_tokens = reply_tokens_of(_selected_preset(chat), context_tokens)
    return context_map(prompt, context_tokens, reply_tokens, visible_messages(chat).count())


def _selected_preset(chat: Chat) -> GenerationPreset:
    """Return the preset of the chat's last reply, or the default one."""
    latest = (
        Generation.objects.for_owner(chat.owner_id).filter(chat=chat).select_related("preset").order_by("-pk").first()
    )
    return preset_or_default(chat.owner_id, latest.preset if latest else None)


def preview_memory(chat: Chat, settings: PromptSettings) -> PromptMemory:
    """Return what is remembered in the prompt of the next reply. Raise Invalid."""
    prompt = preview_prompt(chat, settings)
    return replace(prompt.memory, stable_tokens=prompt.stable_tokens)
