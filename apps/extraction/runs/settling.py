"""Start what a chat's changes require: invalidation, a run, an index job.

A chat is settled once that has been started for all of its changes. ``Chat.settled_rev`` is the revision up to which
it is, so that a sweep finds the chats of which a task was lost.
"""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db.models import F

from apps.chats.models import Chat, ChatChange
from apps.chats.signals import ChatChanged
from apps.common.jobs import OPEN_STATES
from apps.common.problems import Missing
from apps.common.scoping import system_scope
from apps.extraction.jobs.index_jobs import request_index_job
from apps.extraction.models import ExtractionRun
from apps.extraction.progress import invalidate_chat
from apps.extraction.runs.operations import request_run
from apps.extraction.runs.queries import check_is_due, is_due, latest_run
from apps.extraction.settings.stores import settings_of
from apps.llm.queries import embedding_connection
from apps.search.indexing import has_stale_passages, index_changed

EDIT_KINDS = (ChatChange.Kind.PATCH, ChatChange.Kind.UNDO)  # the kinds of change that alter existing messages
MAX_SEARCHED = 500  # newest messages searched for ones to extract if no existing message was altered
MAX_SWEPT = 500  # chats that one sweep settles


def on_chat_committed(event: ChatChanged, **kwargs: Any) -> None:
    """Invalidate memories that lost their source, start an extraction if it is due, and index what changed."""
    chat = Chat.objects.for_owner(event.owner_id).select_related("character").filter(pk=event.chat_id).first()
    if chat is None:
        return
    altered = event.kind in EDIT_KINDS
    if altered:
        invalidate_if_exists(chat)
    # Most changes append a message: of a long chat, they don't look through all that was read long ago.
    due = extract_if_due(chat, since=0 if altered else max(chat.message_count - MAX_SEARCHED, 0))
    if settings_of(chat).index_messages and _leaves_passages(event, chat):
        request_index_job(chat)
    if not due:
        _mark_settled(chat, since=event.rev - 1, rev=event.rev)  # a run settles the chat at its end


def _leaves_passages(event: ChatChanged, chat: Chat) -> bool:
    """Index what changed. Return whether a job is to index more: all of an import, or what waits for a server."""
    if event.kind == ChatChange.Kind.IMPORT or embedding_connection(event.owner_id) is not None:
        return True
    return index_changed(event.owner_id, chat, event.message_ids)


def on_chat_restored(chat: Chat, **kwargs: Any) -> None:
    """Continue what was not read or indexed while the chat was in the bin."""
    extract_if_due(chat)
    if settings_of(chat).index_messages:
        request_index_job(chat)


def settle(chat: Chat) -> None:
    """Start what the chat's changes require, in case a task after a change was lost or a run was under way then."""
    # Whatever became of runs: what moderators hide, which changes no rev, must not wait for the next one.
    invalidate_if_exists(chat)
    if chat.runs.open().exists():
        return  # its end settles the chat
    latest = latest_run(chat.owner_id, chat)
    # A run that failed, or that a person cancelled, is not repeated before the chat changes.
    ended_early = latest is not None and latest.state in (ExtractionRun.State.FAILED, ExtractionRun.State.CANCELLED)
    is_repetition = ended_early and latest is not None and latest.chat_rev == chat.rev
    if not is_repetition and extract_if_due(chat):
        return
    if settings_of(chat).index_messages and has_stale_passages(chat.owner_id, chat):
        request_index_job(chat)
    _mark_settled(chat, since=0, rev=chat.rev)


def unsettled_chats() -> list[UUID]:
    """Return up to MAX_SWEPT chats without an open run that have changed since they were last settled, oldest first."""
    with system_scope():
        unsettled = Chat.objects.filter(rev__gt=F("settled_rev")).exclude(runs__state__in=OPEN_STATES)
        return list(unsettled.order_by("updated_at").values_list("pk", flat=True)[:MAX_SWEPT])


def invalidate_if_exists(chat: Chat) -> None:
    """Invalidate memories that lost their source; do nothing if the chat was deleted in the meantime."""
    with suppress(Missing):
        invalidate_chat(chat.owner_id, chat.pk)


def extract_if_due(chat: Chat, *, since: int = 0) -> bool:
    """Start a run if one is due, looking at messages from index ``since`` on. Return whether one is due.

    If none is, but a new reply is to be checked, the run does that alone.
    """
    if is_due(chat, since=since):
        request_run(chat.owner_id, chat, automatic=True)
    elif check_is_due(chat):
        request_run(chat.owner_id, chat, tiers=["continuity"], automatic=True)
    else:
        return False
    return True


def _mark_settled(chat: Chat, *, since: int, rev: int) -> None:
    """Mark a chat as settled at ``rev`` if it was settled at ``since``, or later: else an earlier task was lost."""
    rows = Chat.objects.for_owner(chat.owner_id).filter(pk=chat.pk, settled_rev__gte=since, settled_rev__lt=rev)
    rows.update(settled_rev=rev)
