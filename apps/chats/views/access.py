"""Loads what a page is about, or answers 404: also for what belongs to somebody else."""

from uuid import UUID

from django.http import Http404, HttpRequest

from apps.chats.models import Character, Chat, Lorebook, Message
from apps.chats.queries import access_character, access_chat, access_lorebook, access_message
from apps.common.problems import Missing


def own_chat(request: HttpRequest, chat_id: UUID) -> Chat:
    try:
        return access_chat(request.user, chat_id)
    except Missing as error:
        raise Http404(error.detail) from error


def own_message(request: HttpRequest, chat_id: UUID, message_id: UUID) -> Message:
    try:
        return access_message(request.user, chat_id, message_id)
    except Missing as error:
        raise Http404(error.detail) from error


def own_character(request: HttpRequest, character_id: UUID) -> Character:
    try:
        return access_character(request.user, character_id)
    except Missing as error:
        raise Http404(error.detail) from error


def own_lorebook(request: HttpRequest, lorebook_id: UUID) -> Lorebook:
    try:
        return access_lorebook(request.user, lorebook_id)
    except Missing as error:
        raise Http404(error.detail) from error


def wants_partial(request: HttpRequest) -> bool:
    """Whether htmx asks, which puts a part into the page that is there."""
    return bool(request.htmx)  # type: ignore[attr-defined]
