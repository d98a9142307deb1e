"""Find out what a run would read and cost, whether one is due, and how far one is."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from apps.chats.models import Chat, Message
from apps.chats.pages.plugins import Activity
from apps.common.scoping import Owner
from apps.extraction.models import ExtractionRun
from apps.extraction.progress import end_of_window, is_checked, messages_to_extract
from apps.extraction.runs.estimates import estimate
from apps.extraction.settings.schema import READING_TIERS, tier_names
from apps.extraction.settings.stores import settings_of
from apps.memories.models import ChatMemory

SPEED_STEPS, MIN_SPEED_STEPS = 20, 3  # the newest steps of a run that tell its speed, and how few of them do


def tiers_of(chat: Chat, tiers: Sequence[str] = ()) -> list[str]:
    """Return the tiers that a run extracts: the given ones, else those that the settings switch on."""
    settings = settings_of(chat)
    return [tier for tier in tier_names() if (tier in tiers if tiers else getattr(settings, tier))]


def expected_cost(chat: Chat, *, again: bool = False) -> dict[str, Any]:
    """Return the estimate for a run over the chat's new messages, or ``again`` over all; empty without a model."""
    reading = [tier for tier in tiers_of(chat) if tier in READING_TIERS]
    return estimate(chat, reading, 0, 0 if is_read_only(chat) else end_of_window(chat), again=again)


def asks_first(chat: Chat, expected: Mapping[str, Any]) -> bool:
    """Return whether a person is asked before a run that is expected to take so much."""
    tokens: int = expected.get("prompt_tokens", 0)
    return tokens > settings_of(chat).ask_above


def is_read_only(chat: Chat) -> bool:
    """Return whether the chat is in read-only mode, in which nothing is extracted from it."""
    return ChatMemory.of_chat(chat).mode == ChatMemory.Mode.READ_ONLY


def is_due(chat: Chat, *, since: int = 0) -> bool:
    """Return whether a run is due, looking at messages from index ``since`` on.

    A run is due if enough messages are not extracted, or if one of them precedes one that was, because of an edit.
    Those of a group count once their round is over.
    """
    settings, end = settings_of(chat), end_of_rounds(chat)
    tiers = [tier for tier in READING_TIERS if getattr(settings, tier)]
    if not tiers or is_read_only(chat):
        return False
    new = list(messages_to_extract(chat, tiers, since, end).values_list("index", flat=True)[: settings.extract_every])
    if len(new) >= settings.extract_every:
        return True
    # New messages are the last ones that are remembered; one with messages after it that have been read was edited.
    later = Message.objects.for_owner(chat.owner_id).filter(chat=chat, index__gte=min(new, default=end), index__lt=end)
    return later.remembered().count() > len(new)


def check_is_due(chat: Chat) -> bool:
    """Return whether the chat ends with a complete reply that was not compared, and changed since its latest run."""
    if not settings_of(chat).continuity or is_read_only(chat):
        return False
    newest = Message.objects.for_owner(chat.owner_id).filter(chat=chat).with_swipes().order_by("-index").first()
    if newest is None or newest.is_user or newest.is_system:
        return False
    if newest.left_out or newest.withheld or newest.is_partial:
        return False
    latest = latest_run(chat.owner_id, chat)
    return (latest is None or latest.chat_rev < chat.rev) and not is_checked(newest)


def end_of_rounds(chat: Chat) -> int:
    """Return the index at which a run that starts by itself ends, exclusive: in a group, that of the round under way.

    A round begins with a message of the user, and others may still answer it. Without any there are no rounds.
    """
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat, is_user=True)
    newest = rows.order_by("-index").first() if chat.is_group else None
    return end_of_window(chat) if newest is None else newest.index


def runs_of(owner: Owner) -> QuerySet[ExtractionRun]:
    """Return the owner's runs, without those of chats in the bin."""
    runs: QuerySet[ExtractionRun] = ExtractionRun.objects.for_owner(owner).filter(chat__deleted_at=None)
    return runs


def latest_run(owner: Owner, chat: Chat) -> ExtractionRun | None:
    """Return the chat's latest run, or None."""
    return ExtractionRun.objects.for_owner(owner).filter(chat=chat).order_by("-pk").first()


def seconds_left(run: ExtractionRun) -> float | None:
    """Return how long the steps left would take at the speed of the run's newest ones, or None if that is unknown."""
    times = list(run.steps.order_by("-finished_at").values_list("finished_at", flat=True)[:SPEED_STEPS])
    if len(times) < MIN_SPEED_STEPS:
        return None
    each = (times[0] - times[-1]).total_seconds() / (len(times) - 1)
    return each * max(run.total - run.done, 0)


def activities(owner: Owner, chat_ids: Collection[UUID]) -> Mapping[UUID, Activity]:
    """Return the progress of the chats' active runs by chat id, for the list of chats."""
    active = ExtractionRun.objects.for_owner(owner).active().filter(chat_id__in=chat_ids)
    return {run.chat_id: Activity(run.done, run.total) for run in active}
