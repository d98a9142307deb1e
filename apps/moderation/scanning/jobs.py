"""Jobs that read what was written and flag it: created after a write, run by workers."""

import datetime as dt
import hashlib
from collections.abc import Iterator, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.chats.models import Character, Chat, Message
from apps.chats.queries import message_batches
from apps.common import jobs
from apps.common.scoping import Owner, owner_id_of, system_scope
from apps.llm.generation import GenerationFailed, TransientFailure
from apps.moderation.models import Flag, Kind, Rule, ScanJob
from apps.moderation.operations.reports import open_case
from apps.moderation.scanning import endpoint
from apps.moderation.scanning.rules import Matcher, enabled_matchers, matching
from apps.moderation.targets import Target, texts_of_character, texts_of_message

WAIT = dt.timedelta(minutes=5)  # while the endpoint does not answer
KEPT = dt.timedelta(days=1)  # ended jobs
Text = tuple[Target, str]


def is_scanning() -> bool:
    """Return whether there is anything to look for."""
    return endpoint.is_configured() or Rule.objects.filter(is_enabled=True).exists()


@transaction.atomic
def create_scan(owner: Owner, kind: str, target_id: UUID, message_ids: Sequence[UUID] = ()) -> ScanJob | None:
    """Return a queued job that reads a chat's messages (all without ids) or a character, or None without rules.

    What has not begun is joined, so that many writes in a row leave one job.
    """
    if not is_scanning():
        return None
    jobs.lock_owner(owner)
    waiting = ScanJob.objects.for_owner(owner).select_for_update()
    waiting = waiting.filter(kind=kind, target_id=target_id, state=ScanJob.State.QUEUED, claims=0, done=0)
    if job := waiting.order_by("pk").first():
        if job.message_ids:
            job.message_ids = sorted({*job.message_ids, *message_ids}) if message_ids else []
            job.save(update_fields=["message_ids"])
        return job
    return ScanJob.objects.create(
        owner_id=owner_id_of(owner), kind=kind, target_id=target_id, message_ids=list(message_ids)
    )


def execute_claimed(job: ScanJob) -> bool:
    """Run a claimed job. Return False: what it has done is kept by a heartbeat after each batch."""
    with jobs.fail_on_error(job, GenerationFailed):
        try:
            matchers = enabled_matchers()
            done = 0
            for batch in _batches(job):
                done += len(batch)
                if done > job.done:  # else read before an interruption
                    _flag(job, matchers, batch)
                    jobs.heartbeat(job, done=done, claims=0)
        except TransientFailure as failure:
            jobs.postpone(job, failure.detail, timezone.now() + WAIT)
            return False
        jobs.end(job, ScanJob.State.SUCCEEDED)
    return False


def _batches(job: ScanJob) -> Iterator[list[Text]]:
    if job.kind == "character":
        character = Character.objects.for_owner(job.owner_id).filter(pk=job.target_id).first()
        if character is not None:
            target = Target(Kind.CHARACTER, character.pk, character.owner_id)
            yield [(target, text) for _, text in texts_of_character(character)]
        return
    chat = Chat.objects.for_owner(job.owner_id).filter(pk=job.target_id).first()
    if chat is None:
        return
    if job.message_ids:
        rows = Message.objects.for_owner(job.owner_id).filter(chat=chat, pk__in=job.message_ids)
        yield _texts(list(rows.with_swipes().order_by("index")))
    else:
        yield from map(_texts, message_batches(chat))


def _texts(messages: Sequence[Message]) -> list[Text]:
    return [
        (Target(Kind.MESSAGE, message.pk, message.owner_id, message.chat_id), text)
        for message in messages
        for text in texts_of_message(message)
    ]


def _flag(job: ScanJob, matchers: Sequence[Matcher], batch: Sequence[Text]) -> None:
    """Open cases about the texts of a batch that a rule or the endpoint flags."""
    for target, text in batch:
        for name in matching(matchers, text):
            store_flag(target, text, name)
    if endpoint.is_configured():
        for start in range(0, len(batch), endpoint.MAX_TEXTS):
            part = batch[start : start + endpoint.MAX_TEXTS]
            verdicts = endpoint.ask([text for _, text in part], lambda: jobs.heartbeat(job))
            for (target, text), verdict in zip(part, verdicts, strict=True):
                if verdict.flagged:
                    store_flag(target, text, "moderation endpoint", verdict.categories)


@transaction.atomic
def store_flag(target: Target, text: str, source: str, categories: Sequence[str] = ()) -> None:
    """Flag a text once: one whose case was decided is not flagged again."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    flags = Flag.objects.for_owner(target.owner_id).filter(source=source, digest=digest)
    if not flags.filter(case__kind=target.kind, case__target_id=target.pk).exists():
        Flag.objects.for_owner(target.owner_id).get_or_create(
            case=open_case(target),
            source=source,
            digest=digest,
            defaults={"owner_id": target.owner_id, "categories": list(categories)},
        )


def delete_ended_scans(now: dt.datetime) -> None:
    """Delete jobs that ended a day ago."""
    with system_scope():
        ended = ScanJob.objects.filter(finished_at__lt=now - KEPT).exclude(state__in=jobs.OPEN_STATES)
        ended.order_by(F("pk")).delete()
