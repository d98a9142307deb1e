"""Store what the model replies."""

from dataclasses import replace
from uuid import UUID

from django.db import transaction

from apps.chats.locking import Guard, lock_chat
from apps.chats.message_data.namespaces import LOCI_NAMESPACE, PARTIAL_KEY, DataChange, namespace_of
from apps.chats.models import Chat, Message
from apps.chats.operations import Patch, append_messages, patch_messages
from apps.common.scoping import Owner
from apps.proxy.collected_replies import CollectedReply
from apps.proxy.matching.keys import key_of
from apps.proxy.models import ProxiedChat
from apps.proxy.operations.requests import StoredRequest
from apps.proxy.operations.stored_turns import data_of, parsed_turn, swipe_of
from apps.proxy.requests.folded_prompts import label_of
from apps.proxy.requests.texts import normalized, same_text
from apps.proxy.requests.turns import Turn, joined
from apps.replies.continuations import continued
from apps.replies.speakers import without_name

GUARD = Guard(optional=True)


@transaction.atomic
def store_reply(request: StoredRequest, reply: CollectedReply) -> None:
    """Store a reply after its turn: as a message, as a swipe of the reply that is there, or in its continuation.

    Store nothing if the turn was deleted in the meantime, or the reply is stored already. Raise Missing.
    """
    owner, client, beginning = request.chat.owner_id, request.client, request.continued
    chat = lock_chat(owner, request.chat.pk)
    speaker = request.speaker or _named_speaker(chat, reply.text)
    reply = replace(reply, text=without_name(reply.text, speaker))
    messages = Message.objects.for_owner(owner).filter(chat=chat).with_swipes()
    anchor = messages.filter(pk=request.anchor).first()
    if anchor is None:
        return
    if beginning is not None:
        _know(chat, client, anchor, anchor.pk, _continue(owner, chat, anchor, beginning, reply))
        return
    following = messages.filter(index__gt=anchor.index, is_system=False).order_by("index").first()
    parsed = parsed_turn(chat, Turn(False, reply.text, reply.tools, speaker), is_partial=reply.is_partial)
    is_another = following is not None and chat.is_group and speaker not in ("", following.name)
    if following is None:
        stored = append_messages(owner, chat.pk, [parsed]).messages[-1].pk
    elif following.is_user or is_another:
        patch_messages(owner, chat.pk, [Patch(id=following.pk, insert_before=parsed)], GUARD)
        stored = Message.objects.for_owner(owner).filter(chat=chat, index__gt=anchor.index).order_by("index")[0].pk
    else:
        _add_version(owner, chat, following, reply)
        stored = following.pk
    _know(chat, client, anchor, stored, reply.text)


def _named_speaker(chat: Chat, text: str) -> str:
    """Return the member of a group whose name the model has put before a reply, or nothing."""
    label = label_of(text.lstrip()) if chat.is_group else ""
    return label if label and chat.participants.filter(name=label).exists() else ""


def _continue(owner: Owner, chat: Chat, anchor: Message, beginning: str, reply: CollectedReply) -> str:
    """Add a reply to the text that it continues. Return the whole text.

    If the text was changed in the meantime, by a person or another continuation, the whole is another swipe.
    """
    tools = (*namespace_of(anchor.extra, LOCI_NAMESPACE).get("tools", []), *reply.tools)
    text = joined(beginning, reply.text) if tools else continued(beginning, reply.text)
    whole = replace(reply, text=text, tools=tools)
    if same_text(anchor.mes, beginning):
        _patch(owner, chat, anchor, whole)
    else:
        _add_version(owner, chat, anchor, whole)
    return text


def _add_version(owner: Owner, chat: Chat, message: Message, reply: CollectedReply) -> None:
    """Show the reply in a message: in the swipe that has its text, in place of its own beginning, or in a new one."""
    texts = [normalized(swipe.mes) for swipe in message.ordered_swipes]
    if normalized(reply.text) in texts:
        position = texts.index(normalized(reply.text))
        patch_messages(owner, chat.pk, [Patch(id=message.pk, swipe_id=position)], GUARD)
    elif message.is_partial and normalized(reply.text).startswith(normalized(message.mes)):
        _patch(owner, chat, message, reply)
    else:
        swipe = swipe_of(Turn(False, reply.text, reply.tools), is_partial=reply.is_partial)
        patch_messages(owner, chat.pk, [Patch(id=message.pk, add_swipe=swipe)], GUARD)


def _patch(owner: Owner, chat: Chat, message: Message, reply: CollectedReply) -> None:
    clear = frozenset() if reply.is_partial else frozenset({PARTIAL_KEY})
    data = DataChange(LOCI_NAMESPACE, data_of(reply.tools, is_partial=reply.is_partial), clear)
    patch_messages(owner, chat.pk, [Patch(id=message.pk, values={"mes": reply.text}, data=data)], GUARD)


def _know(chat: Chat, client: str, anchor: Message, stored: UUID, text: str) -> None:
    """Store that a client received a text, which stands in the message ``stored`` at or after ``anchor``."""
    row = ProxiedChat.objects.for_owner(chat.owner_id).filter(chat=chat, client=client).first()
    if row is None or anchor.pk not in row.known_messages:
        return
    key = key_of(chat.owner_id, is_user=False, text=text)
    if stored in row.known_messages:
        row.known_keys[row.known_messages.index(stored)] = key
    else:
        place = row.known_messages.index(anchor.pk) + 1
        row.known_messages.insert(place, stored)
        row.known_keys.insert(place, key)
    row.save()
