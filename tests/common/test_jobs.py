"""The lifecycle of jobs: each transition from each state, by a worker that owns the job and by one that lost it."""

import datetime as dt
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.db import NotSupportedError, OperationalError, connection, transaction
from django.test import override_settings
from django.utils import timezone
from psycopg.errors import FeatureNotSupported

from apps.accounts.models import User
from apps.chats.models import ImportJob
from apps.common import jobs
from apps.common.jobs import turns
from apps.common.registry import Registry
from apps.extraction.models import EmbeddingJob, ExtractionRun, IndexJob, ModelTest
from apps.llm.operations import create_connection, use_for
from apps.snapshots.models import Snapshot
from tests.database import WAITING
from tests.factories import UserFactory, make_chat

pytestmark = pytest.mark.django_db
LONG_AGO = dt.timedelta(hours=1)
STATES = set(jobs.OPEN_STATES) | set(jobs.TERMINAL_STATES)

# The states that each transition leads out of; from all others it does nothing.
TRANSITIONS: list[tuple[Callable[[Any], object], set[str], str]] = [
    (lambda job: jobs.claim(type(job), job.pk), {"queued"}, "running"),
    (jobs.requeue, {"running"}, "queued"),
    (lambda job: jobs.end(job, "succeeded"), {"running"}, "succeeded"),
    (jobs.pause, {"queued", "running"}, "paused"),
    (jobs.resume, {"paused"}, "queued"),
    (jobs.cancel, {"queued", "running", "paused"}, "cancelled"),
    (lambda job: jobs.fail_orphans(type(job), "Gone."), set(), ""),
]


@pytest.fixture
def job() -> ExtractionRun:
    owner = UserFactory()
    run: ExtractionRun = ExtractionRun.objects.create(owner_id=owner.pk, chat=make_chat(owner))
    return run


def update(job: Any, **fields: Any) -> Any:
    """Store the fields in the job's row and return the job as it is then."""
    type(job).objects.for_owner(job.owner_id).filter(pk=job.pk).update(**fields)
    job.refresh_from_db()
    return job


def claimed(job: ExtractionRun) -> ExtractionRun:
    mine = jobs.claim(ExtractionRun, job.pk)
    assert mine is not None
    return mine


def test_the_states_are_either_open_or_terminal() -> None:
    assert set(ExtractionRun.State.values) == STATES
    assert not set(jobs.OPEN_STATES) & set(jobs.TERMINAL_STATES)


@pytest.mark.parametrize("state", sorted(STATES))
@pytest.mark.parametrize(("transition", "sources", "target"), TRANSITIONS)
def test_a_transition_leads_from_its_states_only(
    job: ExtractionRun, transition: Callable[[Any], object], sources: set[str], target: str, state: str
) -> None:
    mine = update(claimed(job), state=state)
    transition(mine)
    job.refresh_from_db()
    assert job.state == (target if state in sources else state)
    assert bool(job.finished_at) == (state in sources and target in jobs.TERMINAL_STATES)


def test_of_two_workers_one_gets_the_job(job: ExtractionRun) -> None:
    mine = claimed(job)
    assert jobs.claim(ExtractionRun, job.pk) is None
    update(job, heartbeat_at=timezone.now() - LONG_AGO)
    other = claimed(job)
    assert other.claim != mine.claim
    with pytest.raises(jobs.ClaimLost):
        jobs.heartbeat(mine, stage="session")
    assert jobs.end(mine, "failed") is False
    jobs.requeue(mine)
    jobs.heartbeat(other, stage="arcs")
    job.refresh_from_db()
    assert (job.state, job.stage, job.started_at) == ("running", "arcs", mine.started_at)


@pytest.mark.django_db(transaction=True)
def test_of_two_workers_at_once_one_gets_the_job_and_the_other_takes_the_next(job: ExtractionRun) -> None:
    """Both have found the job when one of them claims it; the other one waits for the row, and doesn't get it."""
    later = ExtractionRun.objects.create(owner_id=job.owner_id, chat=make_chat(UserFactory()))
    found: list[object] = []

    def work() -> None:
        found.extend([jobs.claim(ExtractionRun, job.pk), jobs.claim_next([ExtractionRun])])
        connection.close()

    other = threading.Thread(target=work)
    with transaction.atomic():
        mine = claimed(job)
        other.start()
        wait_for_lock()
    other.join()
    assert found == [None, later]
    assert update(job).claim == mine.claim


def wait_for_lock() -> None:
    """Wait until another connection waits for a row that this one has locked."""
    deadline = time.monotonic() + 60
    with connection.cursor() as cursor:
        while cursor.execute(WAITING).fetchone() == (0,):
            assert time.monotonic() < deadline, "nobody waits"
            time.sleep(0.01)


@pytest.mark.parametrize("transition", [jobs.cancel, jobs.pause])
def test_a_worker_learns_of_a_cancel_or_pause_at_its_next_heartbeat(
    job: ExtractionRun, transition: Callable[[Any], object]
) -> None:
    mine = claimed(job)
    jobs.heartbeat(mine, stage="arcs")
    transition(job)
    assert job.stage == ""
    with pytest.raises(jobs.ClaimLost):
        jobs.heartbeat(mine)


def test_a_job_at_which_five_workers_died_fails(job: ExtractionRun) -> None:
    for _ in range(5):
        claimed(job)
        update(job, heartbeat_at=timezone.now() - LONG_AGO, stage="arcs")
    assert jobs.claim(ExtractionRun, job.pk) is None
    job.refresh_from_db()
    assert (job.state, job.stage) == ("failed", "")
    assert "stopped 5 times" in job.error


def test_a_job_that_goes_back_to_the_queue_may_be_claimed_again_without_end(job: ExtractionRun) -> None:
    for _ in range(jobs.MAX_CLAIMS + 2):
        jobs.requeue(claimed(job))


def test_lost_jobs_are_revived(job: ExtractionRun) -> None:
    assert jobs.take_lost(ExtractionRun, "extraction") == []
    update(job, created_at=timezone.now() - LONG_AGO)
    assert jobs.take_lost(ExtractionRun, "extraction") == [job.pk]
    assert jobs.take_lost(ExtractionRun, "extraction") == []  # it was sent a moment ago
    claimed(job)
    assert jobs.take_lost(ExtractionRun, "extraction") == []
    update(job, heartbeat_at=timezone.now() - LONG_AGO)
    assert jobs.take_lost(ExtractionRun, "extraction") == [job.pk]
    jobs.cancel(job)
    assert jobs.take_lost(ExtractionRun, "extraction") == []


def test_a_job_that_cannot_be_revived_is_never_claimed_twice() -> None:
    test = ModelTest.objects.create(owner_id=UserFactory().pk)
    assert jobs.claim(ModelTest, test.pk)
    with override_settings(RUN_HEARTBEAT_TIMEOUT=0):
        assert jobs.claim(ModelTest, test.pk) is None
        jobs.fail_orphans(ModelTest, "Its worker is gone.")
    test.refresh_from_db()
    assert (test.state, test.error, test.claim) == ("failed", "Its worker is gone.", None)


def test_an_expected_error_is_the_jobs_reason(job: ExtractionRun) -> None:
    with jobs.fail_on_error(claimed(job), KeyError, ValueError):
        raise ValueError("The file is damaged.")
    job.refresh_from_db()
    assert (job.state, job.error) == ("failed", "The file is damaged.")


def test_an_unexpected_error_fails_the_job_without_its_text_and_is_raised(job: ExtractionRun) -> None:
    with pytest.raises(ValueError, match="secret"), jobs.fail_on_error(claimed(job)):
        raise ValueError("secret")
    job.refresh_from_db()
    assert job.state == "failed"
    assert job.error
    assert "secret" not in job.error


def test_a_job_whose_database_went_away_stays_claimed_and_is_revived_later(job: ExtractionRun) -> None:
    with pytest.raises(OperationalError), jobs.fail_on_error(claimed(job)):
        raise OperationalError("the connection is closed")
    job.refresh_from_db()
    assert job.state == "running"


def test_a_job_whose_worker_is_told_to_end_stays_claimed_and_is_revived_later(job: ExtractionRun) -> None:
    def end_within_a_statement() -> None:
        try:
            raise SystemExit
        finally:
            raise ValueError("in transaction")

    with pytest.raises(ValueError, match="in transaction"), jobs.fail_on_error(claimed(job)):
        end_within_a_statement()
    job.refresh_from_db()
    assert job.state == "running"


def test_a_job_whose_transaction_a_migration_ended_is_revived_later(job: ExtractionRun) -> None:
    error = NotSupportedError("cached plan must not change result type")
    error.__cause__ = FeatureNotSupported()
    with pytest.raises(NotSupportedError), jobs.fail_on_error(claimed(job)):
        raise error
    job.refresh_from_db()
    assert job.state == "running"


def test_a_lost_claim_leaves_the_job_as_it_is(job: ExtractionRun) -> None:
    mine = claimed(job)
    jobs.cancel(job)
    with jobs.fail_on_error(mine):
        jobs.heartbeat(mine)
    job.refresh_from_db()
    assert (job.state, job.error) == ("cancelled", "")


@pytest.mark.parametrize("error", ["deadlock detected", "canceling statement due to statement timeout"])
def test_a_database_error_that_recurs_fails_the_job_after_five_claims(job: ExtractionRun, error: str) -> None:
    for _ in range(jobs.MAX_CLAIMS):
        with pytest.raises(OperationalError), jobs.fail_on_error(claimed(job)):
            raise OperationalError(error)
        update(job, heartbeat_at=timezone.now() - LONG_AGO)
    assert jobs.claim(ExtractionRun, job.pk) is None
    job.refresh_from_db()
    assert job.state == "failed"


# Which job comes next


def queued_run(owner: User, **fields: Any) -> ExtractionRun:
    run: ExtractionRun = ExtractionRun.objects.create(owner_id=owner.pk, chat=make_chat(owner), **fields)
    return run


def next_run() -> ExtractionRun:
    found = jobs.claim_next([ExtractionRun])
    assert isinstance(found, ExtractionRun)
    return found


def next_run_of(owner: User) -> ExtractionRun:
    run = queued_run(owner)
    return jobs.claim(ExtractionRun, run.pk) or run


def test_owners_take_turns_however_many_jobs_each_of_them_has(db: None) -> None:
    busy, other = UserFactory(), UserFactory()
    for _ in range(5):
        queued_run(busy)
    jobs.requeue(next_run())
    waiting = queued_run(other)
    run = next_run()
    assert run == waiting
    jobs.requeue(run)
    turns = []
    for _ in range(6):
        run = next_run()
        turns.append(run.owner_id)
        jobs.requeue(run)
    assert turns == [busy.pk, other.pk] * 3


def test_an_owner_whose_jobs_run_already_comes_after_one_with_none(db: None) -> None:
    busy, other = UserFactory(), UserFactory()
    for _ in range(3):
        queued_run(busy)
    served = queued_run(other)
    jobs.end(jobs.claim(ExtractionRun, served.pk) or served, "succeeded")
    next_run()
    waiting = queued_run(other)  # its owner had the latest turn, but nothing of it runs
    ExtractionRun.objects.for_owner(other).filter(pk=served.pk).update(claimed_at=timezone.now())
    assert next_run() == waiting
    assert next_run().owner_id == busy.pk
    assert next_run().owner_id == busy.pk
    assert jobs.claim_next([ExtractionRun]) is None


def test_of_an_owners_jobs_the_one_that_has_waited_longest_comes_next(db: None) -> None:
    owner = UserFactory()
    first, second, third = (queued_run(owner) for _ in range(3))
    for expected in (first, second, third, first, second):
        run = next_run()
        assert run == expected
        jobs.requeue(run)


def test_turns_count_across_the_kinds_of_jobs_of_a_queue(db: None) -> None:
    busy, other = UserFactory(), UserFactory()
    imports = [ImportJob.objects.create(owner_id=busy.pk, filename="chat.jsonl") for _ in range(3)]
    waiting = EmbeddingJob.objects.create(owner_id=other.pk, model="small")
    kinds = [ImportJob, EmbeddingJob]
    assert [jobs.claim_next(kinds) for _ in range(5)] == [imports[0], waiting, *imports[1:], None]


# Of one owner: what a person waits for

INDEXING: Any = [kind.model for kind in jobs.kinds if kind.queue == "indexing"]


def index_job(owner: User, **fields: Any) -> IndexJob:
    job: IndexJob = IndexJob.objects.create(owner_id=owner.pk, chat=make_chat(owner), **fields)
    return job


def import_job(owner: User, **fields: Any) -> ImportJob:
    job: ImportJob = ImportJob.objects.create(owner_id=owner.pk, filename="chat.jsonl", **fields)
    return job


def snapshot(owner: User, **fields: Any) -> Snapshot:
    job: Snapshot = Snapshot.objects.create(owner_id=owner.pk, kind="account", **fields)
    return job


def claimed_in_turn(number: int, models: Any = INDEXING) -> list[Any]:
    return [jobs.claim_next(models) for _ in range(number)]


@pytest.mark.parametrize("ask", [import_job, snapshot])
def test_what_a_person_waits_for_comes_before_work_that_waits_longer(db: None, ask: Callable[[User], Any]) -> None:
    owner = UserFactory()
    waiting = [index_job(owner), index_job(owner), EmbeddingJob.objects.create(owner_id=owner.pk, model="small")]
    asked = ask(owner)
    first, *others = claimed_in_turn(4)
    assert first == asked
    assert {job.pk for job in others} == {job.pk for job in waiting}


def test_a_daily_snapshot_waits_for_its_turn(db: None) -> None:
    owner = UserFactory()
    daily, asked = snapshot(owner, reason="daily"), import_job(owner)
    assert claimed_in_turn(2) == [asked, daily]


def test_a_run_that_a_person_asked_for_comes_before_those_that_began_by_themselves(db: None) -> None:
    owner = UserFactory()
    first, second, asked = queued_run(owner), queued_run(owner), queued_run(owner, asked=True)
    assert claimed_in_turn(3, [ExtractionRun]) == [asked, first, second]


def test_kinds_take_turns_within_an_owner(db: None) -> None:
    owner = UserFactory()
    indexing = [index_job(owner) for _ in range(3)]
    embedding = EmbeddingJob.objects.create(owner_id=owner.pk, model="small")
    imports = [import_job(owner) for _ in range(3)]
    asked = snapshot(owner)
    assert claimed_in_turn(4) == [imports[0], asked, *imports[1:]]
    assert claimed_in_turn(4) == [indexing[0], embedding, *indexing[1:]]


def test_what_nobody_waits_for_gets_a_turn_a_minute(db: None) -> None:
    owner, now = UserFactory(), timezone.now()
    long_ago = now - dt.timedelta(minutes=5)
    with time_machine.travel(now, tick=False):
        indexing = [index_job(owner, created_at=long_ago + dt.timedelta(seconds=n)) for n in range(2)]
        imports = [import_job(owner, created_at=now - dt.timedelta(seconds=9 - n)) for n in range(5)]
        assert claimed_in_turn(3) == [indexing[0], *imports[:2]]
    with time_machine.travel(now + jobs.BACKGROUND_PERIOD + dt.timedelta(seconds=1), tick=False):
        assert claimed_in_turn(1) == [indexing[1]]
    with time_machine.travel(now + jobs.BACKGROUND_PERIOD + dt.timedelta(seconds=2), tick=False):
        assert isinstance(claimed_in_turn(1)[0], ImportJob)


# The place in the queue


def test_a_job_tells_its_place_in_the_queue(db: None) -> None:
    owner = UserFactory()
    indexing, asked = [index_job(owner), index_job(owner)], snapshot(owner)
    assert [job.place for job in (asked, *indexing)] == [1, 2, 3]
    other = UserFactory()
    import_job(other), index_job(other)
    assert [job.place for job in (asked, *indexing)] == [2, 4, 5]
    claimed_job = jobs.claim(Snapshot, asked.pk)
    assert claimed_job is not None
    assert (claimed_job.place, indexing[0].place) == (None, 2)
    assert update(indexing[0], wait_until=timezone.now() + LONG_AGO).place is None
    assert ModelTest.objects.create(owner_id=owner.pk).place is None  # its kind takes no turns


def test_a_place_counts_what_is_in_the_same_queue_alone(db: None) -> None:
    owner, connected = UserFactory(), UserFactory()
    server = create_connection(
        connected, name="Theirs", backend="openai", base_url="http://127.0.0.1:9/v1", embedding_model="vectors"
    )
    use_for(server, embeddings=True)
    EmbeddingJob.objects.for_owner(connected).delete()
    at_server, asked = [index_job(connected) for _ in range(3)], import_job(connected)
    here = index_job(owner)
    assert [job.place for job in at_server] == [1, 2, 3]
    assert [job.place for job in (asked, here)] == [2, 2]  # each after the other's
    other = UserFactory()
    index_job(other)
    assert [at_server[0].place, here.place] == [1, 3]


def test_the_place_is_the_order_in_which_jobs_are_claimed(db: None) -> None:
    owner = UserFactory()
    waiting = [index_job(owner), index_job(owner), import_job(owner), snapshot(owner), import_job(owner)]
    waiting.sort(key=lambda job: job.place or 0)
    assert claimed_in_turn(5) == waiting


def test_a_job_that_cannot_be_claimed_any_more_does_not_hold_up_the_queue(db: None) -> None:
    broken, sound = queued_run(UserFactory(), claims=jobs.MAX_CLAIMS), queued_run(UserFactory())
    assert next_run() == sound
    broken.refresh_from_db()
    assert broken.state == "failed"


def test_a_job_whose_worker_died_takes_its_turn_again(job: ExtractionRun) -> None:
    claimed(job)
    assert jobs.claim_next([ExtractionRun]) is None
    update(job, heartbeat_at=timezone.now() - LONG_AGO)
    assert next_run() == job


def test_an_owner_whose_worker_died_waits_for_no_others(job: ExtractionRun) -> None:
    claimed(job)
    update(job, claimed_at=timezone.now() - dt.timedelta(minutes=10), heartbeat_at=timezone.now() - LONG_AGO)
    other = UserFactory()
    jobs.end(next_run_of(other), "succeeded")
    queued_run(other)
    assert next_run() == job


def test_a_job_that_is_not_finished_after_its_slice_is_sent_again(
    job: ExtractionRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    finished = iter([False, True])

    def execute(run: ExtractionRun) -> bool:
        if next(finished):
            return not jobs.end(run, "succeeded")
        jobs.requeue(run)
        return True

    kinds: Registry[jobs.Kind] = Registry()
    kinds.register(jobs.Kind(ExtractionRun, "tests", execute, sent.append))
    monkeypatch.setattr(turns, "kinds", kinds)
    for _ in range(3):  # the third message finds nothing to do
        jobs.run_next("tests")
    assert sent == [job.pk]
