"""Request and stop generations, and write their text to the chat."""

import datetime as dt
from typing import Any
from uuid import UUID

from celery import current_app
from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from apps.chats.locking import Guard, IntegrityConflict, lock_chat
from apps.chats.message_data.namespaces import DataChange, partial_change
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import Character, Chat, Message
from apps.chats.operations import Patch, append_messages, patch_messages
from apps.chats.queries.replying import reply_connection
from apps.common import jobs
from apps.common.problems import Conflict, Invalid, Missing
from apps.common.scoping import Owner
from apps.common.stored_texts import msgid_of
from apps.prompts.turns import visible_messages
from apps.prompts.witnessing import require_member
from apps.replies.continuations import continued
from apps.replies.models import Generation, GenerationPreset
from apps.replies.speakers import is_mute, next_speaker, speaker_of

UNCHECKED = Guard(optional=True)
# That a message takes to arrive: who stops a reply meanwhile wants no other.
ON_ITS_WAY = dt.timedelta(seconds=10)
WORKER_LOST = gettext_noop("The worker that wrote the reply was lost.")
GENERATION_KEY = "generation"  # in ``extra`` of a swipe: the id of the generation that wrote it
RUN_TASK = "apps.replies.tasks.run_generation"


@transaction.atomic
def request_generation(
    owner: Owner,
    chat_id: UUID,
    *,
    mode: str,
    character: Character | None = None,
    preset: GenerationPreset | None = None,
    guard: Guard = UNCHECKED,
) -> Generation:
    """Create a generation, and enqueue it on commit.

    Raise IntegrityConflict, Missing, Conflict if one is under way, Invalid without a connection, if the mode needs a
    reply at the end of the chat, or if the character isn't in the group.
    """
    chat = lock_chat(owner, chat_id, guard)
    if guard.is_stale(chat):
        raise IntegrityConflict.for_chat(chat, guard)
    if reply_connection(chat) is None:
        raise Invalid(gettext("No model is connected. Connect one in the settings."))
    settle_ended(chat)
    if Generation.objects.for_owner(owner).filter(chat=chat).active().exists():
        raise Conflict(gettext("A reply is being written in this chat. Wait for it, or stop it."))
    if mode == Generation.Mode.REPLY and character is None and is_mute(chat):
        raise Invalid.at("/character", gettext("Everybody in this group is muted."))
    return _create_generation(chat, mode=mode, character=character, preset=preset)


def _create_generation(
    chat: Chat, *, mode: str, character: Character | None, preset: GenerationPreset | None
) -> Generation:
    """Create a generation in a locked chat without an active one. Raise Invalid, as ``request_generation``."""
    generation = Generation(owner_id=chat.owner_id, chat=chat, mode=mode, preset=preset)
    require_member(chat, character)
    if mode in (Generation.Mode.SWIPE, Generation.Mode.CONTINUE):
        generation.message = message = _last_reply(chat)
        generation.speaker, generation.character = speaker_of(chat, message, character)
        generation.prefix = message.mes if mode == Generation.Mode.CONTINUE else ""
    else:
        generation.speaker, generation.character = next_speaker(chat, character)
    generation.follows = visible_messages(chat).order_by("-index").first()
    generation.save(force_insert=True)
    jobs.job_changed.send(Generation, job=generation, state=generation.state)
    # If the broker is down, the generation stays queued, and the sweep sends it.
    transaction.on_commit(lambda: send(generation.pk), robust=True)
    return generation


@transaction.atomic
def answer_sent(
    owner: Owner,
    chat_id: UUID,
    *,
    character: Character | None = None,
    preset: GenerationPreset | None = None,
    during: UUID | None = None,
) -> None:
    """Request a reply to the message that the user has just sent; if one is being written, once that has ended.

    Do nothing if the message is answered already, or if it was sent ``during`` a reply that was stopped or failed
    before this request came. Raise as ``request_generation``.
    """
    chat = lock_chat(owner, chat_id)  # a reply that ends now is settled, with what follows it, before or after this
    settle_ended(chat)
    if Generation.objects.for_owner(owner).filter(chat=chat).active().update(then_reply=True):
        return
    last = visible_messages(chat).order_by("-index").first()
    before = Generation.objects.for_owner(owner).filter(chat=chat, pk=during).first() if during else None
    if before is not None and last is not None and _was_stopped_after(before, last):
        return
    if last is not None and last.is_user:
        request_generation(owner, chat_id, mode=Generation.Mode.REPLY, character=character, preset=preset)


def send(generation_id: UUID) -> None:
    """Enqueue a message for a generation."""
    current_app.send_task(RUN_TASK, kwargs={"generation_id": str(generation_id)}, queue="replies")


def _last_reply(chat: Chat) -> Message:
    """Return the last visible message. Raise Invalid if it isn't a reply."""
    message: Message | None = visible_messages(chat).order_by("-index").first()
    if message is None or message.is_user:
        raise Invalid.at("/mode", gettext("The chat doesn't end with a reply."))
    return message


def stop_generation(generation: Generation) -> Generation:
    """Stop a generation, if it has not ended, and keep its text. Its worker stops within a second."""
    generation = jobs.cancel(generation)
    if generation.state == Generation.State.CANCELLED:
        settle(generation)
    return generation


def dismiss_generation(generation: Generation) -> Generation:
    """Don't show the failure of a generation any more."""
    update_fields(generation, dismissed=True)
    return generation


def on_chat_deleted(chat: Chat, **kwargs: Any) -> None:
    """Receive ``chat_deleted``: stop the reply that is being written."""
    for generation in Generation.objects.for_owner(chat.owner_id).filter(chat=chat).active():
        jobs.cancel(generation)


def settle_ended(chat: Chat) -> None:
    """Write the texts of the chat's generations that have ended, which their workers are about to write."""
    generations = Generation.objects.for_owner(chat.owner_id).filter(chat=chat, settled=False)
    for generation in generations.filter(state__in=jobs.TERMINAL_STATES):
        settle(generation)


@transaction.atomic
def settle(generation: Generation) -> None:
    """Write the text of a generation that has ended to its message. It is marked as partial unless it succeeded.

    Then request the reply to what the user has said meanwhile, if that was wanted. While the chat is in the bin,
    nothing happens: the sweep calls this again once it is restored.
    """
    try:
        chat = lock_chat(generation.owner_id, generation.chat_id)
    except Missing:
        return
    write_text(generation, is_partial=generation.state != Generation.State.SUCCEEDED)
    generation.refresh_from_db(fields=["follows", "preset", "then_reply"])
    then_reply = generation.then_reply
    update_fields(generation, settled=True, then_reply=False)  # whoever settles it again requests nothing
    if then_reply:
        _answer_waiting(chat, generation)


def _answer_waiting(chat: Chat, ended: Generation) -> None:
    """Request a reply to what the user has said since the prompt of ``ended``, with its preset.

    After a reply that was stopped, or that the model failed to write, the user decides what comes next.
    """
    last = visible_messages(chat).order_by("-index").first()
    is_waiting = last is not None and last.is_user and last.pk != ended.follows_id
    if _went_well(ended) and is_waiting and reply_connection(chat) is not None and not is_mute(chat):
        _create_generation(chat, mode=Generation.Mode.REPLY, character=None, preset=ended.preset)


def _was_stopped_after(ended: Generation, message: Message) -> bool:
    """Return whether a reply was stopped, or failed, when ``message`` had been sent. It may have arrived later."""
    if ended.mode == Generation.Mode.IMPERSONATE or _went_well(ended) or ended.finished_at is None:
        return False
    return ended.finished_at > message.created_at - ON_ITS_WAY


def _went_well(ended: Generation) -> bool:
    """Return whether it was neither stopped nor failed by its model."""
    return ended.state == Generation.State.SUCCEEDED or msgid_of(ended.error) == WORKER_LOST


@transaction.atomic
def write_text(generation: Generation, *, is_partial: bool) -> None:
    """Write the text to its message, which is created with the first text.

    A message that was deleted in the meantime, or whose chat was deleted, stays as it is. If its text was edited, that
    stays too, and the whole reply becomes another swipe.
    """
    if generation.mode == Generation.Mode.IMPERSONATE:
        return
    try:
        chat = lock_chat(generation.owner_id, generation.chat_id)
    except Missing:
        return
    generation.refresh_from_db(fields=["message", "text", "stored_text"])  # others may have stored more of it
    if not generation.text.strip():
        return
    text, mark = continued(generation.prefix, generation.text), partial_change(is_partial)
    if not generation.stored_text:
        written = _write_first(chat, generation, text, mark)
    else:
        written = _write_again(chat, generation, text, mark)
    if written:
        update_fields(generation, message=generation.message, stored_text=text)


def _write_first(chat: Chat, generation: Generation, text: str, mark: DataChange) -> bool:
    """Store the first text: add a message or a swipe, or continue a text. Return False if its message is gone."""
    extra = {GENERATION_KEY: str(generation.pk)}
    swipe = ParsedSwipe(text, mark.apply(extra))
    if generation.mode == Generation.Mode.REPLY:
        follows = generation.follows
        if follows is not None and not Message.objects.for_owner(chat.owner_id).filter(pk=follows.pk).exists():
            return False  # the turn that it answers was deleted
        generation.message = _add_message(chat, follows, _parsed(generation.speaker, swipe))
        return True
    message = Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk=generation.message_id).first()
    if message is None:
        return False
    if generation.mode == Generation.Mode.SWIPE:
        patches = [
            Patch(id=message.pk, add_swipe=swipe),
            Patch(id=message.pk, swipe_id=message.swipes.count()),
        ]
    elif message.mes == generation.prefix:
        patches = [Patch({"mes": text}, id=message.pk, extra=extra, data=mark)]
    else:  # it was edited
        patches = [Patch(id=message.pk, add_swipe=swipe, swipe_id=message.swipe_id)]
    patch_messages(chat.owner_id, chat.pk, patches, UNCHECKED)
    return True


def _add_message(chat: Chat, previous: Message | None, parsed: ParsedMessage) -> Message:
    """Add a message after ``previous``, also if others came since; at the end if that is gone."""
    messages = Message.objects.for_owner(chat.owner_id).filter(chat=chat)
    place = messages.filter(pk=previous.pk).values_list("index", flat=True).first() if previous else None
    following = messages.filter(index__gt=place).order_by("index").first() if place is not None else None
    if following is None:
        return append_messages(chat.owner_id, chat.pk, [parsed]).messages[0]
    patch_messages(chat.owner_id, chat.pk, [Patch(id=following.pk, insert_before=parsed)], UNCHECKED)
    added: Message = messages.get(index=following.index)
    return added


def _write_again(chat: Chat, generation: Generation, text: str, mark: DataChange) -> bool:
    """Replace the text written before, in its swipe, unless somebody removed it. Keep the active swipe.

    If somebody changed it, add the text as another swipe, which isn't chosen.
    """
    message = Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk=generation.message_id).first()
    if message is None:
        return False
    own = [swipe for swipe in message.swipes.all() if swipe.extra.get(GENERATION_KEY) == str(generation.pk)]
    swipe = next((swipe for swipe in own if swipe.mes == generation.stored_text), None)
    if not own or (swipe is None and text == generation.stored_text):
        return False
    pk = message.pk
    if swipe is None:
        whole = ParsedSwipe(text, mark.apply({GENERATION_KEY: str(generation.pk)}))
        patch_messages(chat.owner_id, chat.pk, [Patch(id=pk, add_swipe=whole, swipe_id=message.swipe_id)], UNCHECKED)
        return True
    write = Patch({"mes": text}, id=pk, data=mark)
    if swipe.position == message.swipe_id:
        patches = [write]
    else:
        patches = [Patch(id=pk, swipe_id=swipe.position), write, Patch(id=pk, swipe_id=message.swipe_id)]
    patch_messages(chat.owner_id, chat.pk, patches, UNCHECKED)
    return True


def _parsed(name: str, swipe: ParsedSwipe) -> ParsedMessage:
    return ParsedMessage(
        name=name,
        is_user=False,
        is_system=False,
        send_date=None,
        sent_at=None,
        swipe_id=0,
        swipes=(swipe,),
        layout="",
    )


def update_fields(generation: Generation, **values: Any) -> None:
    """Update fields of the row that don't belong to its worker."""
    Generation.objects.for_owner(generation.owner_id).filter(pk=generation.pk).update(**values)
    for name, value in values.items():
        setattr(generation, name, value)
