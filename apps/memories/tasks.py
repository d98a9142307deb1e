"""What happens in the background. Tasks carry ids; what they do stands elsewhere."""

import time
from functools import partial
from typing import Any
from uuid import UUID

from celery import shared_task
from django.db import transaction

from apps.chats.events import ChatChanged
from apps.chats.models import Chat
from apps.common.scoping import system_scope
from apps.memories import pipeline, runs
from apps.memories.models import ExtractionRun
from apps.memories.passages import index_batches

EXTRACT_EVERY = 3  # new messages
INDEXING_TURN = 20.0  # seconds; a long chat takes many turns, and lets other work in between


def keep_up(event: ChatChanged) -> None:
    """Subscriber: bring the index of the chat's messages up to date, and extract if enough is new."""
    chat = Chat.objects.for_owner(event.owner_id).filter(pk=event.chat_id).first()
    if chat is not None:
        extract_if_due(chat)
        index_for_a_while(chat)


def extract_if_due(chat: Chat) -> None:
    if runs.end_of_window(chat) - runs.first_new_index(chat) >= EXTRACT_EVERY:
        request_run(chat.owner_id, chat)


def index_for_a_while(chat: Chat) -> None:
    """Bring the chat's index up to date; what is left after a turn's time is left to a task of its own."""
    end = time.monotonic() + INDEXING_TURN
    for _ in index_batches(chat.owner_id, chat):
        if time.monotonic() > end:
            index_chat.delay(chat_id=str(chat.pk))
            return


def request_run(owner: Any, chat: Chat, **options: Any) -> tuple[ExtractionRun, bool]:
    """As ``runs.start_run``; the run goes to a worker once it is committed."""
    with transaction.atomic():
        run, made = runs.start_run(owner, chat, **options)
        if made:
            transaction.on_commit(partial(run_extraction.delay, run_id=str(run.pk)))
    return run, made


@shared_task
def index_chat(*, chat_id: str, **kwargs: Any) -> None:
    with system_scope():
        chat = Chat.objects.filter(pk=chat_id).first()
    if chat is not None:
        index_for_a_while(chat)


@shared_task
def run_extraction(*, run_id: str, **kwargs: Any) -> None:
    pipeline.execute(UUID(run_id))


@shared_task
def sweep_runs(**kwargs: Any) -> None:
    """Send runs that were lost to a worker again."""
    for run_id in runs.runs_to_revive():
        run_extraction.delay(run_id=str(run_id))
