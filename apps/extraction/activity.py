"""Runs under way, for the list of chats."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from apps.chats.pages.plugins import Activity
from apps.extraction.models import ExtractionRun
from apps.extraction.runs import ACTIVE


def runs_under_way(owner: Any, chat_ids: Collection[UUID]) -> Mapping[UUID, Activity]:
    """The active runs of the owner's chats, by chat id."""
    active = ExtractionRun.objects.for_owner(owner).filter(ACTIVE, chat_id__in=chat_ids)
    return {run.chat_id: Activity(run.done, run.total) for run in active}
