"""Priorities of threads in the worker of the small form, and the end of one whose task hangs."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import get_native_id

import pytest

from apps.chats.tasks import dispatch_chat_committed
from apps.exchange.tasks import run_import_job
from apps.extraction.tasks import run_extraction
from config.one_worker import give_way


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux has priorities of threads.")
def test_threads_give_way_as_the_processes_of_their_queues_do() -> None:
    """And no further: a web server of usual priority waits for the lock that a run holds on its chat."""

    def niceness_of(task: object, queue: str) -> int:
        task.push_request(delivery_info={"routing_key": queue})  # type: ignore[attr-defined]
        give_way(task)
        task.pop_request()  # type: ignore[attr-defined]
        return os.getpriority(os.PRIO_PROCESS, get_native_id())

    before = os.getpriority(os.PRIO_PROCESS, 0)
    for task, queue, expected in (
        (run_import_job, "indexing", max(10, before)),
        (run_extraction, "extraction", max(5, before)),
        (dispatch_chat_committed, "interactive", before),
    ):
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(niceness_of, task, queue).result() == expected


def test_a_task_runs_where_priorities_of_threads_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> int:
        raise ProcessLookupError

    monkeypatch.setattr(os, "getpriority", refuse)
    give_way(run_extraction)


HANGING = """
import os, sys, threading, time
import django; django.setup()
from apps.chats.tasks import dispatch_chat_committed as task
from config import one_worker
queue, is_ended, broker = sys.argv[1:]
task.time_limit = 0.1
task.push_request(delivery_info={"routing_key": queue})
one_worker.note_deadline("1", task)
if is_ended == "ended":
    one_worker.forget_deadline("1")
if is_ended == "delivered again":

    def run_again():
        task.push_request(delivery_info={"routing_key": queue})
        one_worker.note_deadline("1", task)
        one_worker.forget_deadline("1")

    again = threading.Thread(target=run_again)
    again.start()
    again.join()
threading.Thread(target=time.sleep, args=(600,)).start()  # as the task's thread


class Request:
    def __init__(self, id):
        self.id = id

    def acknowledge(self):
        print("acknowledged", self.id, flush=True)
        if broker == "hangs":
            time.sleep(600)
        if broker == "fails":
            raise RuntimeError


requests = [Request("1"), Request("2")]
one_worker.state.active_requests.update(requests)
one_worker.ACKNOWLEDGE_SECONDS = 0.1
one_worker.end_if_overdue()  # too early
time.sleep(0.2)
one_worker.end_if_overdue()
print("goes on", flush=True)
os._exit(0)
"""


@pytest.mark.parametrize(
    ("queue", "is_ended", "broker", "status"),
    [
        ("interactive", "hangs", "answers", os.EX_SOFTWARE),
        ("interactive", "hangs", "hangs", os.EX_SOFTWARE),
        ("interactive", "hangs", "fails", os.EX_SOFTWARE),
        ("interactive", "delivered again", "answers", os.EX_SOFTWARE),  # and ended, in another thread
        ("interactive", "ended", "answers", 0),
        ("replies", "hangs", "answers", 0),  # waits for a model, with time limits of its own
    ],
)
def test_a_task_that_hangs_beyond_its_time_limit_ends_the_process_and_is_given_up(
    queue: str, is_ended: str, broker: str, status: int
) -> None:
    command = [sys.executable, "-c", HANGING, queue, is_ended, broker]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == status, process.stderr
    assert ("dispatch_chat_committed (1)" in process.stderr + process.stdout) == bool(status)
    acknowledged = [line for line in process.stdout.splitlines() if line.startswith("acknowledged")]
    assert acknowledged == (["acknowledged 1"] if status else [])
