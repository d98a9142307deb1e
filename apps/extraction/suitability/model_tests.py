"""Tests of a model as background jobs, one at a time for each owner.

A test uses its own scenes: it reads no memories and writes none.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from apps.common import jobs
from apps.common.on_demand import on_demand
from apps.common.problems import Conflict, Invalid, Problem
from apps.common.scoping import Owner, owner_id_of
from apps.extraction.models import ModelTest
from apps.extraction.prompts.rendering import templates_of
from apps.extraction.suitability.running import SuitabilityReport, question_count, run
from apps.extraction.suitability.scoring import TrialResult
from apps.llm.backends.selection import backend_on
from apps.llm.generation import GenerationBackend, get_backend
from apps.llm.models import Connection

MAX_TESTS = 20  # tests kept per owner; older ones are deleted
HEARTBEAT_INTERVAL = 2.0  # seconds; a backend calls its watch function more often
WORKER_LOST = gettext_noop("The worker stopped during the test. Start the test again.")
CONNECTION_DELETED = gettext_noop("The connection was deleted before the test started.")


@transaction.atomic
def start_test(owner: Owner, connection: Connection | None) -> ModelTest:
    """Create a queued test of the connection's model, or of the built-in backend.

    Raise Conflict if another test of the owner is active, and Invalid if the connection names no model.
    """
    if connection is not None and not connection.model:
        raise Invalid.at("/connection", gettext("This connection has no generation model."))
    jobs.lock_owner(owner)
    tests = ModelTest.objects.for_owner(owner)
    if tests.active().exists():
        raise Conflict(gettext("Another test is running. Wait until it has ended, or cancel it."))
    tests.exclude(pk__in=list(tests.order_by("-pk").values_list("pk", flat=True)[: MAX_TESTS - 1])).delete()
    backend = _backend(connection)
    return ModelTest.objects.create(
        owner_id=owner_id_of(owner),
        connection=connection,
        backend=backend.name,
        model=backend.model,
        total=question_count(backend.name),
        results=_document(SuitabilityReport()),
    )


def request_model_test(owner: Owner, connection: Connection | None) -> ModelTest:
    """Start a test as ``start_test`` does, and queue it on commit."""
    with transaction.atomic():
        test = start_test(owner, connection)
        transaction.on_commit(partial(on_demand("apps.extraction.tasks:send_model_test"), test.pk))
    return test


def execute(test_id: UUID) -> None:
    """Run a test and store each result when it arrives. Do nothing if the test can't be claimed."""
    test = jobs.claim(ModelTest, test_id)
    if test is None:
        return
    with jobs.fail_on_error(test, Problem):
        # ``connection`` is null for a deleted connection and for the built-in backend; the names differ.
        if test.connection is None and test.backend != get_backend().name:
            raise Conflict(CONNECTION_DELETED)
        results: list[TrialResult] = []

        def store(result: TrialResult) -> None:
            results.append(result)
            jobs.heartbeat(test, done=len(results), results=_document(SuitabilityReport(results)))

        report = run(_backend(test.connection), throttled_heartbeat(test), store, templates=templates_of(test.owner))
        jobs.end(test, ModelTest.State.SUCCEEDED, results=_document(report))


def throttled_heartbeat(job: jobs.Job) -> Callable[[], None]:
    """Return a function that records a heartbeat, at most one per HEARTBEAT_INTERVAL. It raises ClaimLost."""
    last = float("-inf")

    def record_heartbeat() -> None:
        nonlocal last
        if time.monotonic() - last >= HEARTBEAT_INTERVAL:
            jobs.heartbeat(job)
            last = time.monotonic()

    return record_heartbeat


def _backend(connection: Connection | None) -> GenerationBackend:
    return backend_on(connection) if connection else get_backend()


def _document(report: SuitabilityReport) -> dict[str, Any]:
    return {"schema_version": ModelTest.SCHEMA_VERSION, **report.document()}
