"""Run a generation: assemble the prompt, call the model, and store the text while it comes.

No transaction and no lock is held during the call.
"""

from apps.chats.macros import resolve_card_text
from apps.chats.models import Message
from apps.chats.queries.replying import reply_connection
from apps.common import jobs
from apps.common.jobs.progress import Progress
from apps.common.problems import Invalid, Problem
from apps.common.stored_texts import gettext_stored, ngettext_stored
from apps.llm.backends.selection import backend_on
from apps.llm.generation import GenerationFailed, GenerationRequest, PromptMessage, TransientFailure
from apps.llm.models import Connection
from apps.prompts.assembly.prompt import assemble
from apps.prompts.assembly.requests import PromptRequest, Reply
from apps.prompts.turns import visible_messages
from apps.replies.models import Generation
from apps.replies.operations import settle, update_fields, write_text
from apps.replies.presets import preset_or_default, reply_tokens_of
from apps.replies.speakers import without_name
from apps.replies.tools.rounds import generate
from apps.replies.tools.toolbox import room_for, toolbox_for

INSTRUCTIONS = {
    Generation.Mode.CONTINUE: "Continue your last message exactly where it ends. Don't repeat any of it.",
    Generation.Mode.IMPERSONATE: "Write the next message of {{user}}, from their point of view.",
}


def run(generation: Generation) -> None:
    """Run a claimed generation to its end, and write its text to the chat, also if it fails or was stopped."""
    try:
        with jobs.fail_on_error(generation, Problem):
            _generate(generation)
    finally:
        text = generation.text
        generation.refresh_from_db()
        if not generation.is_open:
            generation.text = text  # of a stopped one the row may lack the last second
            Generation.objects.for_owner(generation.owner_id).filter(pk=generation.pk).update(text=text)
            settle(generation)


def _generate(generation: Generation) -> None:
    connection = reply_connection(generation.chat)
    if connection is None:
        raise Invalid(gettext_stored("No model is connected any more."))
    is_user = generation.mode == Generation.Mode.IMPERSONATE
    toolbox = None if is_user else toolbox_for(generation.chat, connection, generation.character)
    with Progress(generation):  # a worker that has just started, on a busy machine, takes a minute for its first prompt
        request = _request(generation, connection, reserved=room_for(connection) if toolbox else 0)
    name = generation.chat.user_name if is_user else generation.speaker

    def listen(text: str) -> None:
        _keep(generation, without_name(text, name, is_whole=False))

    try:
        jobs.heartbeat(generation)
        backend = backend_on(connection, is_urgent=True)
        completion = generate(backend, request, lambda: jobs.heartbeat(generation), listen, toolbox)
    except GenerationFailed as failure:
        generation.text = without_name(failure.partial, name) or generation.text
        jobs.heartbeat(generation, text=generation.text)
        raise GenerationFailed(_reason(failure)) from failure
    generation.text = without_name(completion.text, name)
    usage = {"prompt_tokens": completion.prompt_tokens, "completion_tokens": completion.completion_tokens}
    jobs.heartbeat(generation, text=generation.text, usage=usage)
    if not generation.text.strip():
        raise GenerationFailed(gettext_stored("The model said nothing."))
    if completion.filtered:
        raise GenerationFailed(gettext_stored("The server's content filter ended the reply."))
    jobs.end(generation, Generation.State.SUCCEEDED)


def _reason(failure: GenerationFailed) -> str:
    """Return why a call failed and, if the server says so, how long to wait before the next."""
    wait = failure.retry_after if isinstance(failure, TransientFailure) else None
    if not wait:
        return str(failure)
    return ngettext_stored(
        "%(reason)s The server asks to wait %(seconds)s second.",
        "%(reason)s The server asks to wait %(seconds)s seconds.",
        round(wait),
        reason=failure,
        seconds=f"{wait:,.0f}",
    )


def _keep(generation: Generation, text: str) -> None:
    """Store the text so far. The first text also becomes a message of the chat. Raise ClaimLost."""
    if text and text != generation.text:
        generation.text = text
        jobs.heartbeat(generation, text=text)
        if not generation.stored_text:
            write_text(generation, is_partial=True)


def _last_message(generation: Generation) -> Message | None:
    """Return the chat's last visible message. Raise Invalid if a reply to go on from is no longer that."""
    last = visible_messages(generation.chat).order_by("-index").first()
    if generation.mode in (Generation.Mode.SWIPE, Generation.Mode.CONTINUE):
        if generation.message_id is None:
            raise Invalid(gettext_stored("The reply was deleted in the meantime."))
        if last is None or last.pk != generation.message_id:
            raise Invalid(gettext_stored("The chat went on in the meantime."))
    return last


def _request(generation: Generation, connection: Connection, *, reserved: int = 0) -> GenerationRequest:
    """Return the request of the model, which leaves ``reserved`` tokens of the context free.

    Raise Invalid if the chat went on, or the prompt doesn't fit.
    """
    update_fields(generation, follows=_last_message(generation))
    preset = preset_or_default(generation.owner_id, generation.preset)
    reply_tokens = reply_tokens_of(preset, connection.context_tokens)
    reply = Reply(
        preset=preset,
        tokens=reply_tokens,
        instruction=INSTRUCTIONS.get(Generation.Mode(generation.mode), ""),
        for_user=generation.mode == Generation.Mode.IMPERSONATE,
    )
    prompt = assemble(
        PromptRequest(
            chat=generation.chat,
            character=generation.character,
            reply=reply,
            context_tokens=connection.context_tokens - reserved,
            again=generation.mode == Generation.Mode.SWIPE,
        )
    )
    messages: list[PromptMessage] = prompt.messages  # type: ignore[assignment]
    return GenerationRequest(
        "reply",
        messages,
        max_tokens=reply_tokens,
        temperature=preset.temperature,
        top_p=preset.top_p,
        top_k=preset.top_k,
        min_p=preset.min_p,
        repetition_penalty=preset.repetition_penalty,
        stop=[resolve_card_text(text, prompt.names) for text in preset.stop],
    )
