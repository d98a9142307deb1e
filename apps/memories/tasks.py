"""What happens in the background. Tasks carry ids; what they do stands elsewhere."""

from functools import partial
from typing import Any
from uuid import UUID

from celery import shared_task
from django.db import transaction

from apps.chats.events import ChatChanged
from apps.chats.models import Chat
from apps.memories import pipeline, runs
from apps.memories.models import ExtractionRun
from apps.memories.passages import index_messages

EXTRACT_EVERY = 3  # new messages


def keep_up(event: ChatChanged) -> None:
    """Subscriber: bring the index of the chat's messages up to date, and extract if enough is new."""
    chat = Chat.objects.for_owner(event.owner_id).filter(pk=event.chat_id).first()
    if chat is not None:
        extract_if_due(chat)
        index_messages(chat.owner_id, chat)


def extract_if_due(chat: Chat) -> None:
    if runs.end_of_window(chat) - runs.first_new_index(chat) >= EXTRACT_EVERY:
        request_run(chat.owner_id, chat)


def request_run(owner: Any, chat: Chat, **options: Any) -> tuple[ExtractionRun, bool]:
    """As ``runs.start_run``; the run goes to a worker once it is committed."""
    with transaction.atomic():
        run, made = runs.start_run(owner, chat, **options)
        if made:
            transaction.on_commit(partial(run_extraction.delay, run_id=str(run.pk)))
    return run, made


@shared_task
def run_extraction(*, run_id: str, **kwargs: Any) -> None:
    pipeline.execute(UUID(run_id))


@shared_task
def sweep_runs(**kwargs: Any) -> None:
    """Send runs that were lost to a worker again."""
    for run_id in runs.runs_to_revive():
        run_extraction.delay(run_id=str(run_id))
