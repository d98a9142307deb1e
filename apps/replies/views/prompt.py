"""The whole prompt of a chat, as the model gets it."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from apps.chats.queries.replying import reply_connection, reply_context
from apps.chats.views.access import own_chat
from apps.common.problems import Invalid
from apps.replies.previews import map_of, preview_prompt


@login_required
def prompt(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Show the whole prompt of the chat's next reply."""
    chat = own_chat(request, chat_id)
    context_tokens = reply_context(chat)
    connection = reply_connection(chat)
    context: dict[str, Any] = {"chat": chat, "connection": connection, "context_tokens": context_tokens}
    try:
        context["prompt"] = whole = preview_prompt(chat)
        context["map"] = map_of(chat, whole)
    except Invalid as problem:
        context["problem"] = problem.detail
    return render(request, "replies/prompt.html", context)
