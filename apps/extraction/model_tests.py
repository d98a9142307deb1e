"""The life of a model's test: started for one of an owner's connections, one at a time, and run by a worker.

It asks its own questions about its own scenes: nothing is read from anybody's memories, and nothing written to them.
A test whose worker dies has failed, and is started again by hand: half a test says nothing.
"""

from typing import Any
from uuid import UUID

import structlog
from django.db import transaction

from apps.common.problems import Conflict, Invalid, Problem
from apps.extraction import jobs
from apps.extraction.models import ModelTest
from apps.extraction.prompts.overrides import templates_of
from apps.extraction.runs import ClaimLost
from apps.extraction.suitability.running import Report, run, total
from apps.extraction.suitability.scoring import TierResult
from apps.llm.connected import ConnectedBackend
from apps.llm.generation import GenerationBackend, get_backend
from apps.llm.models import Connection

KEPT = 20  # tests of an owner that have ended
ORPHANED = "The worker stopped in the middle of it. Start the test again."
GONE = "The connection was deleted before its turn came."

log = structlog.get_logger(__name__)


@transaction.atomic
def start_test(owner: Any, connection: Connection | None) -> ModelTest:
    """A test of the connection's model, or of the built-in backend, which waits for a worker.

    Raises Conflict while another of the owner's goes on, and Invalid where the connection names no model.
    """
    if connection is not None and not connection.model:
        raise Invalid.at("/connection", "This connection names no model that writes.")
    jobs.lock_owner(owner)
    if jobs.active_job(ModelTest, owner):
        raise Conflict("A test goes on already. Wait for it, or cancel it.")
    _forget_old(owner)
    backend = _backend(connection)
    return ModelTest.objects.create(
        owner_id=owner.pk,
        connection=connection,
        backend=backend.name,
        model=backend.model,
        total=total(),
        results=_document(Report()),
    )


def execute(test_id: UUID) -> None:
    """Ask everything there is to ask, and store each result as it comes. Somebody else's test is left alone."""
    test = jobs.claim_job(ModelTest, test_id, revives=False)
    if test is None:
        return
    try:
        report = _ask(test)
    except ClaimLost:
        log.info("model_test_given_up", test=str(test.pk))
    except Problem as problem:
        jobs.end_job(test, ModelTest.State.FAILED, problem.detail)
    except Exception:
        jobs.end_job(test, ModelTest.State.FAILED, "Something went wrong on our side.")
        raise
    else:
        jobs.end_job(test, ModelTest.State.SUCCEEDED, results=_document(report))


def _ask(test: ModelTest) -> Report:
    """Raises ClaimLost, and Conflict where the connection is gone."""
    if test.connection is None and test.backend != get_backend().name:
        raise Conflict(GONE)
    so_far: list[TierResult] = []

    def note(tier: TierResult) -> None:
        so_far.append(tier)
        jobs.beat(test, done=len(so_far), results=_document(Report(so_far)))

    return run(_backend(test.connection), jobs.Pulse(test), note, templates=templates_of(test.owner))


def _backend(connection: Connection | None) -> GenerationBackend:
    return ConnectedBackend(connection) if connection else get_backend()


def _forget_old(owner: Any) -> None:
    """Keep the latest, and room for one more."""
    mine = ModelTest.objects.for_owner(owner)
    mine.exclude(pk__in=list(mine.order_by("-pk").values_list("pk", flat=True)[: KEPT - 1])).delete()


def _document(report: Report) -> dict[str, Any]:
    return {"schema_version": ModelTest.SCHEMA_VERSION, **report.document()}
