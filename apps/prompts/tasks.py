"""Celery tasks of recaps."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from celery import shared_task

from apps.common.database.restriction import restrict
from apps.common.problems import Missing
from apps.prompts import away_recaps as operations


@shared_task(name=operations.WRITE_TASK)
def write_recap(*, owner_id: str, chat_id: str, recap_id: str, **kwargs: Any) -> None:
    """Let a model write the recap of a chat, unless the chat was deleted meanwhile."""
    restrict(UUID(owner_id))
    with suppress(Missing):
        operations.write_recap(UUID(owner_id), UUID(chat_id), UUID(recap_id))
