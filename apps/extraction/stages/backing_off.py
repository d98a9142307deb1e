"""Ask a model less often for a text that it could not write in form, so that each reading does not pay for it again."""

from apps.extraction.models import ExtractionRun, ModelCall
from apps.extraction.models.runs import BACKED_OFF
from apps.extraction.stages.context import Context

FIRST_PAUSE, MAX_PAUSE = 8, 128  # later readings of the chat after a failure, doubled with each further one


def backs_off(context: Context, task: str) -> bool:
    """Return whether the model failed at a task twice in a row, and too few readings have passed since.

    Count it for the page. What a person asks for is always tried.
    """
    if not context.has_model or context.run.tiers == [task]:
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
        context.noted[BACKED_OFF] += 1
    return pauses
