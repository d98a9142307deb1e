"""Branch a chat: copy its beginning, up to a message, to a new chat."""

from collections import deque
from collections.abc import Iterator
from uuid import UUID

from django.db import transaction
from django.db.models import OuterRef, Subquery

from apps.chats.images.references import copy_images, keys_in
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.locking import lock_chat, record_change
from apps.chats.message_data.layout import forget_layout
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.models import Chat, ChatChange, Message, Participant
from apps.chats.operations.chats import insert_chat
from apps.chats.operations.messages import store_messages
from apps.chats.operations.participants import Member, insert_participants
from apps.chats.queries import message_batches
from apps.chats.signals import chat_branched
from apps.common.problems import Invalid
from apps.common.scoping import Owner


@transaction.atomic
def branch_chat(owner: Owner, chat_id: UUID, at: int, *, title: str = "", is_checkpoint: bool = False) -> Chat:
    """Create a chat with the messages of another up to the index ``at``, its metadata and its participants.

    A branch ``at`` -1 has none of the messages, and inherits nothing of what was learnt from them. Raise Missing,
    QuotaExceeded, and Invalid if the chat has no message at that index.
    """
    parent = lock_chat(owner, chat_id)
    if at >= parent.message_count:
        raise Invalid.at("/at", f"The chat has {parent.message_count} messages.")
    chat = insert_chat(
        parent.owner_id,
        namespace=parent.namespace,
        title=title or _default_title(parent, is_checkpoint),
        character_id=parent.character_id,
        user_name=parent.user_name,
        persona_id=parent.persona_id,
        connection_id=parent.connection_id,
        # SillyTavern's key for the parent of a branch.
        metadata=parent.metadata | {"main_chat": parent.title},
        header_layout=forget_layout(parent.header_layout, ["chat_metadata"]),
        is_group=parent.is_group,
        parent=parent,
        parent_index=at if at >= 0 else None,
        is_checkpoint=is_checkpoint,
        story=parent.story,
    )
    members = parent.participants.order_by("position")
    insert_participants(chat, (Member(member.name, member.character_id, member.muted) for member in members))
    image_keys: set[UUID] = set()
    # The iterator stores a batch at each step.
    deque(store_messages(chat, _messages_up_to(parent, at, image_keys)), maxlen=0)
    _copy_speakers(parent, chat)
    copy_images(image_keys, parent, chat)
    record_change(chat, ChatChange.Kind.BRANCH)
    if at >= 0:
        chat_branched.send(sender=Chat, chat=chat)
    return chat


def _messages_up_to(parent: Chat, at: int, image_keys: set[UUID]) -> Iterator[ParsedMessage]:
    """Yield the messages up to an index, and add the keys of the images in their texts to ``image_keys``."""
    for batch in message_batches(parent, at + 1):
        for message in batch:
            parsed = message.parsed()
            image_keys.update(key for swipe in parsed.swipes for key in keys_in(swipe.mes))
            yield parsed


def _default_title(parent: Chat, is_checkpoint: bool) -> str:
    number = parent.branches.filter(is_checkpoint=is_checkpoint).count() + 1
    suffix = f" - {'Checkpoint' if is_checkpoint else 'Branch'} #{number}"
    return parent.title[: MAX_NAME_LENGTH - len(suffix)] + suffix


def _copy_speakers(parent: Chat, chat: Chat) -> None:
    """Give each message the copy of its original's participant, who may have another name than the message by now.

    The copy is the one of the same name, which is unique in a chat. Positions of the original may have gaps.
    """
    if not parent.is_group:
        return
    original = Message.objects.for_owner(chat.owner_id).filter(chat=parent, index=OuterRef(OuterRef("index")))
    name = Subquery(original.values("participant__name"))
    participant = Participant.objects.for_owner(chat.owner_id).filter(chat=chat, name=name)
    Message.objects.for_owner(chat.owner_id).filter(chat=chat).update(participant=Subquery(participant.values("pk")))
