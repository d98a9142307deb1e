"""Chats and messages as documents of the HTTP contract."""

import datetime as dt
from typing import Any

from apps.chats.models import Chat, ImportJob, Message, Participant, Swipe
from apps.chats.queries import Changes
from apps.chats.rounds import Round


def timestamp(moment: dt.datetime | None) -> str | None:
    """RFC 3339 in UTC."""
    return None if moment is None else moment.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def chat_document(chat: Chat) -> dict[str, Any]:
    return {
        "id": str(chat.pk),
        "title": chat.title,
        "character": str(chat.character_id) if chat.character_id else None,
        "user_name": chat.user_name,
        "metadata": chat.metadata,
        "integrity": str(chat.integrity),
        "rev": chat.rev,
        "message_count": chat.message_count,
        "is_group": chat.is_group,
        "parent": str(chat.parent_id) if chat.parent_id else None,
        "parent_index": chat.parent_index,
        "is_checkpoint": chat.is_checkpoint,
        "last_active": timestamp(chat.last_active),
        "created_at": timestamp(chat.created_at),
        "updated_at": timestamp(chat.updated_at),
    }


def import_document(job: ImportJob) -> dict[str, Any]:
    return {
        "id": str(job.pk),
        "filename": job.filename,
        "state": job.state,
        "bytes_done": job.bytes_done,
        "bytes_total": job.bytes_total,
        "messages": job.messages,
        "chats": [str(chat.pk) for chat in job.chats.all()],
        "report": job.report or None,
        "error": job.error or None,
        "created_at": timestamp(job.created_at),
        "started_at": timestamp(job.started_at),
        "finished_at": timestamp(job.finished_at),
    }


def message_document(message: Message) -> dict[str, Any]:
    """``mes`` and ``extra`` are those of the active swipe."""
    swipes = message.ordered_swipes
    active = message.active_swipe
    return {
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
        "swipe_info": [_swipe_info(swipe) for swipe in swipes],
        "hidden": message.is_system,
        "created_at": timestamp(message.created_at),
        "updated_at": timestamp(message.updated_at),
    }


def _swipe_info(swipe: Swipe) -> dict[str, Any]:
    return swipe.info | {"extra": swipe.extra}


def participant_document(participant: Participant) -> dict[str, Any]:
    return {
        "id": str(participant.pk),
        "name": participant.name,
        "character": str(participant.character_id) if participant.character_id else None,
        "position": participant.position,
        "muted": participant.muted,
    }


def round_document(one: Round) -> dict[str, Any]:
    return {
        "round": one.number,
        "user": [_spoken(message) for message in one.user],
        "turns": [_spoken(message) for message in one.turns],
    }


def _spoken(message: Message) -> dict[str, Any]:
    return {
        "id": str(message.pk),
        "index": message.index,
        "name": message.name,
        "participant": str(message.participant_id) if message.participant_id else None,
    }


def change_documents(changes: Changes) -> list[dict[str, Any]]:
    """The log's entries, oldest first, each with the messages that it touched as they are now."""
    return [
        {
            "rev": entry.rev,
            "integrity": str(entry.integrity),
            "kind": entry.kind,
            "at": timestamp(entry.at),
            "messages": [
                message_document(changes.messages[message_id])
                for message_id in entry.message_ids
                if message_id in changes.messages
            ],
            "deleted": [str(message_id) for message_id in entry.deleted_ids],
            "metadata": entry.metadata,
            "metadata_replaced": entry.metadata_replaced,
        }
        for entry in changes.entries
    ]
