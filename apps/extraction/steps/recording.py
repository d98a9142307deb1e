"""Record the steps of a run and its calls of a model, and find replies that are stored already."""

from collections import Counter
from decimal import Decimal

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest

from apps.common import jobs
from apps.extraction.models import ExtractionRun, ModelCall, RunStep
from apps.extraction.settings.schema import READING_TIERS
from apps.llm.generation import BUILTIN
from apps.llm.queries import generation_connection


def finish_step(run: ExtractionRun, step: RunStep) -> None:
    """Save a finished step, in the transaction that writes its result. Raise ClaimLost."""
    # Nobody else changes the counts of a run that this worker owns.
    run.counts = dict(Counter(run.counts) + Counter(step.counts))
    done = F("done") + 1
    # It got further, so that neither its lost workers nor the server's silence count any more.
    jobs.heartbeat(run, done=done, total=Greatest("total", done), counts=run.counts, claims=0, waits=0)
    step.save(force_insert=True)


def stored_replies(run: ExtractionRun, key: str) -> tuple[ModelCall | None, list[ModelCall]]:
    """Return the last call with this key that got a reply, so that it need not be sent again, or None.

    Also return the calls of this run with the key whose replies came but could not be used, in order.

    Any run of the chat may have got the reply. A run that reads messages again, or reads none and writes texts only, is
    to get other replies than before: for it, only its own calls count, from before it was interrupted.
    """
    is_repetition = run.again or not set(run.tiers) & set(READING_TIERS)
    may_have_asked = Q(run=run) if is_repetition else Q(run__chat=run.chat_id)
    asked = ModelCall.objects.for_owner(run.owner_id).filter(key=key)
    calls = list(asked.filter(may_have_asked & Q(error="") | Q(run=run, unusable=True)).order_by("pk"))
    replied = [call for call in calls if not call.error]
    return (replied[-1] if replied else None), [call for call in calls if call.unusable]


@transaction.atomic
def record_call(run: ExtractionRun, call: ModelCall) -> None:
    """Save a model call and add its usage and cost to the run, even a cancelled one.

    Raise ClaimLost if the run was deleted.
    """
    # Not only of a run that this worker owns: a call that was paid for counts, whoever cancelled the run meanwhile.
    locked = ExtractionRun.objects.for_owner(run.owner_id).select_for_update().filter(pk=run.pk).first()
    if locked is None:
        raise jobs.ClaimLost
    call.save(force_insert=True)
    usage = {"calls": 1, "prompt_tokens": call.prompt_tokens, "completion_tokens": call.completion_tokens}
    total = {name: locked.llm.get(name, 0) + amount for name, amount in usage.items()}
    locked.llm = {**total, **_total_cost(locked, call)}
    locked.save(update_fields=["llm"])


def _total_cost(run: ExtractionRun, call: ModelCall) -> dict[str, str | None]:
    """Return the cost of the run's calls including this one; None if one of them had no price, or another currency."""
    connection = generation_connection(run.owner_id) if run.backend != BUILTIN else None
    cost = connection.cost_of(call.prompt_tokens, call.completion_tokens) if connection else None
    if connection is None or cost is None or (run.llm and run.llm.get("currency") != connection.currency):
        return {"cost": None, "currency": None}
    return {"cost": f"{Decimal(run.llm.get('cost', 0)) + cost:f}", "currency": connection.currency}
