"""Render chats, messages and changes as JSON."""

from typing import Any

from apps.chats.dates import timestamp
from apps.chats.message_data.layout import unknown_fields
from apps.chats.models import Chat, Message
from apps.chats.queries.changes import Changes


def chat_document(chat: Chat) -> dict[str, Any]:
    return {
        "id": str(chat.pk),
        "namespace": chat.namespace,
        **details_document(chat),
        "connection": str(chat.connection_id) if chat.connection_id else None,
        "metadata": chat.metadata,
        "integrity": str(chat.integrity),
        "rev": chat.rev,
        "message_count": chat.message_count,
        "is_group": chat.is_group,
        "parent": str(chat.parent_id) if chat.parent_id else None,
        "parent_index": chat.parent_index,
        "is_checkpoint": chat.is_checkpoint,
        "pinned": chat.pinned,
        "archived": chat.archived,
        "folder": chat.folder,
        "tags": chat.tags,
        "last_active": timestamp(chat.last_active),
        "last_used": timestamp(chat.last_used),
        "deleted_at": timestamp(chat.deleted_at),
        "created_at": timestamp(chat.created_at),
        "updated_at": timestamp(chat.updated_at),
    }


def details_document(chat: Chat) -> dict[str, Any]:
    """Return what a change of details may have changed."""
    return {
        "title": chat.title,
        "character": str(chat.character_id) if chat.character_id else None,
        "user_name": chat.user_name,
        "persona": str(chat.persona_id) if chat.persona_id else None,
    }


def message_document(message: Message) -> dict[str, Any]:
    """Return a message as JSON. ``mes`` and ``extra`` are those of the active swipe.

    Fields of the file or the client that are unknown here follow as they came.
    """
    swipes = message.ordered_swipes
    active = message.active_swipe
    document = {
        "id": str(message.pk),
        "index": message.index,
        "rev": message.rev,
        "name": message.name,
        "participant": str(message.participant_id) if message.participant_id else None,
        "is_user": message.is_user,
        "is_system": message.is_system,
        "send_date": message.send_date,
        "mes": active.mes,
        "extra": active.extra,
        "swipe_id": message.swipe_id,
        "swipes": [swipe.mes for swipe in swipes],
        "swipe_info": [swipe.info | {"extra": swipe.extra} for swipe in swipes],
        "hidden": message.is_system,
        "created_at": timestamp(message.created_at),
        "updated_at": timestamp(message.updated_at),
    }
    return document | unknown_fields(message.layout, document) if message.layout else document


def change_documents(changes: Changes) -> list[dict[str, Any]]:
    """Return log entries as JSON, oldest first, each with the current state of what it names.

    A message stands in the last entry that names it.
    """
    last_revs = {message_id: entry.rev for entry in changes.entries for message_id in entry.message_ids}
    return [
        {
            "rev": entry.rev,
            "integrity": str(entry.integrity),
            "kind": entry.kind,
            "at": timestamp(entry.at),
            "messages": [
                message_document(changes.messages[message_id])
                for message_id in entry.message_ids
                if message_id in changes.messages and last_revs[message_id] == entry.rev
            ],
            "deleted": [str(message_id) for message_id in entry.deleted_ids],
            "metadata": entry.metadata,
            "metadata_replaced": entry.metadata_replaced,
            "replaced_keys": entry.replaced_keys,
            "chat": details_document(changes.chat) if entry.changes_details else None,
        }
        for entry in changes.entries
    ]
