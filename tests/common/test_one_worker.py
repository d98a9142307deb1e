"""Priorities of threads in the worker of the small form."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import get_native_id

import pytest

from apps.chats.tasks import dispatch_chat_committed
from apps.exchange.tasks import run_import_job
from config.one_worker import PATIENT_NICENESS, give_way


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux has priorities of threads.")
def test_threads_of_long_work_give_way_and_others_do_not() -> None:
    def niceness_of(task: object, queue: str) -> int:
        task.push_request(delivery_info={"routing_key": queue})  # type: ignore[attr-defined]
        give_way(task)
        task.pop_request()  # type: ignore[attr-defined]
        return os.getpriority(os.PRIO_PROCESS, get_native_id())

    before = os.getpriority(os.PRIO_PROCESS, 0)
    for task, queue, expected in (
        (run_import_job, "indexing", max(PATIENT_NICENESS, before)),
        (dispatch_chat_committed, "interactive", before),
    ):
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(niceness_of, task, queue).result() == expected
