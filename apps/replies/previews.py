"""The whole prompt of a chat's next reply, for pages. Nothing is stored."""

from dataclasses import replace

from apps.chats.models import Chat
from apps.llm.backends import backend_for
from apps.prompts.assembly.context_map import ContextMap, context_map
from apps.prompts.assembly.memory import Prompt
from apps.prompts.assembly.whole import WholePrompt, assemble_whole
from apps.prompts.settings.schema import Settings
from apps.prompts.turns import visible_messages
from apps.replies.models import Generation, GenerationPreset
from apps.replies.presets import preset_or_default, reply_tokens_of
from apps.replies.speakers import next_speaker


def preview_prompt(chat: Chat, settings: Settings | None = None) -> WholePrompt:
    """Return the prompt of the next reply: by the next speaker, with the preset that the chat page selects.

    ``settings`` replace the injection settings of the chat. Raise Invalid.
    """
    preset = _selected_preset(chat)
    context_tokens = backend_for(chat.owner_id).context_tokens
    return assemble_whole(
        chat,
        character=next_speaker(chat, None)[1],
        preset=preset,
        context_tokens=context_tokens,
        reply_tokens=reply_tokens_of(preset, context_tokens),
        settings=settings,
        leave_trace=False,
    )


def map_of(chat: Chat, prompt: WholePrompt) -> ContextMap:
    """Return what the model's context is filled with by the prompt that ``preview_prompt`` returned."""
    context_tokens = backend_for(chat.owner_id).context_tokens
    reply_tokens = reply_tokens_of(_selected_preset(chat), context_tokens)
    return context_map(prompt, context_tokens, reply_tokens, visible_messages(chat).count())


def _selected_preset(chat: Chat) -> GenerationPreset:
    """Return the preset of the chat's last reply, or the default one."""
    latest = (
        Generation.objects.for_owner(chat.owner_id).filter(chat=chat).select_related("preset").order_by("-pk").first()
    )
    return preset_or_default(chat.owner_id, latest.preset if latest else None)


def preview_memory(chat: Chat, settings: Settings) -> Prompt:
    """Return what is remembered in the prompt of the next reply. Raise Invalid."""
    prompt = preview_prompt(chat, settings)
    return replace(prompt.memory, stable_tokens=prompt.stable_tokens)
