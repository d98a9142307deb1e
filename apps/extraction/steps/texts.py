"""What versioned texts share: for whom a run renews one, what may be told in it, when a model is asked again."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable

from apps.chats.models import Character
from apps.extraction.models import BACKED_OFF, ExtractionRun, ModelCall
from apps.extraction.steps.context import Context, StageOutcome
from apps.memories.models import VersionedText
from apps.memories.operations.texts import NewVersion, write_version
from apps.memories.queries.knowledge import knowledge_in
from apps.memories.queries.texts import current_version
from apps.memories.secrets import secrets_kept_from
from apps.memories.witnesses import learners


def text_outcome(
    context: Context,
    kind: str,
    current: VersionedText | None,
    new: NewVersion,
    *,
    counted_as: str,
    character: Character | None = None,
) -> StageOutcome:
    """Return the outcome that writes a version, which was made from the version ``current``.

    Nothing is written if another one has become current in the meantime, by an edit or an invalidation.
    """

    def write() -> Counter[str]:
        if current_version(context.chat, kind, character) != current:
            return Counter()
        write_version(context.chat, kind, new, character=character, run_id=context.run.pk)
        return Counter({counted_as: 1})

    return StageOutcome([write])


NEVER = dt.datetime(1, 1, 1, tzinfo=dt.UTC)
FIRST_PAUSE, MAX_PAUSE = 8, 128  # later readings of the chat after a failure, doubled with each further one


def is_members_turn(context: Context, kind: VersionedText.Kind) -> bool:
    """Return whether the run may ask a model for the member's text, so that ten members don't cost ten calls a pass.

    The oldest texts come first. A run renews as many of a kind as it has read windows, at least one. Outside groups,
    return True.
    """
    if not context.chat.is_group or not context.has_model or context.is_requested:
        return True
    windows = context.run.steps.exclude(last=None).values("window").distinct().count()
    rows = VersionedText.objects.for_owner(context.owner_id).filter(kind=kind, state=VersionedText.State.CURRENT)
    written = dict(rows.filter(chat=context.chat).values_list("character_id", "created_at"))
    made = rows.filter(run=context.run).count()
    mine = written.get(context.character.pk, NEVER) if context.character else NEVER
    older = sum(written.get(member.pk, NEVER) < mine for member in learners(context.chat) if member)
    return made + older < max(windows, 1)


def tellable(context: Context, texts: Iterable[str]) -> list[str]:
    """Return the texts without what is kept from the step's character, whose prompts have what is made from them."""
    names = [context.character.name] if context.character else []
    secrets = secrets_kept_from(names, knowledge_in(context.chat) if names else ())
    return [told for text in texts if (told := secrets.without(text))]


def backs_off(context: Context, task: str) -> bool:
    """Return whether the model failed at a task twice in a row, and too few readings have passed since.

    Count it for the page. What a person asks for is always tried.
    """
    if not context.has_model or context.is_requested:
        return False
    calls = ModelCall.objects.for_owner(context.owner_id).filter(
        run__chat=context.chat, run__model=context.backend.model, task=task
    )
    succeeded = calls.filter(error="").order_by("-pk").values_list("pk", flat=True).first()
    failed = calls.filter(unusable=True, **({"pk__gt": succeeded} if succeeded else {})).exclude(run=context.run)
    runs = sorted(set(failed.values_list("run_id", flat=True)))
    if not runs:
        return False
    later = ExtractionRun.objects.for_owner(context.owner_id).filter(chat=context.chat, pk__gt=runs[-1])
    pauses = later.exclude(pk=context.run.pk).count() < min(FIRST_PAUSE * 2 ** (len(runs) - 1), MAX_PAUSE)
    if pauses:
        context.notes.counts[BACKED_OFF] += 1
    return pauses
