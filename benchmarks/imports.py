"""Import of a 100 MB chat by a Celery worker: time and peak memory of the worker (target: 300 MB).

A message has 7.5 kB with swipes and data, as in long public chats.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from django.core.files import File
from django.core.files.uploadedfile import UploadedFile

from apps.accounts.models import User
from apps.chats.models import ImportJob
from apps.exchange.tasks import request_import

BYTES = 100 * 2**20
AFTERWARDS = 20  # seconds of indexing after the import that are measured too
SENTENCE = "The tide had gone out further than either of them remembered, and the bell lay bare on the sand. "


def main() -> None:
    """Run the import and print its figures."""
    owner = User.objects.create_user("bench-imports@example.com")
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "--quiet", "-A", "config", "worker", "--concurrency", "1"],
        env=os.environ | {"DATABASE_POOL_SIZE": "0"},
        start_new_session=True,
    )
    try:
        with tempfile.TemporaryFile() as file:
            write_chat(file)
            job = request_import(owner, upload(file))
        seconds, peak = _watch(job, worker.pid)
        afterwards = _peak(worker.pid, AFTERWARDS)
    finally:
        os.killpg(worker.pid, signal.SIGTERM)
        worker.wait()
    job.refresh_from_db()
    rate = job.total / seconds / 2**20
    print(f"{job.state}: {job.messages:,} messages, {job.total / 2**20:.0f} MB in {seconds:.1f} s, {rate:.1f} MB/s")
    print(f"peak of the worker's memory: {peak / 2**20:.0f} MB (target: 300)")
    print(
        f"and in the {AFTERWARDS} s after it, indexing the chat with the embedding model: {afterwards / 2**20:.0f} MB"
    )


def write_chat(file: IO[bytes]) -> None:
    """Write a chat of 100 MB as JSONL."""
    file.write(b'{"chat_metadata":{},"user_name":"unused","character_name":"unused"}')
    number = 0
    while file.tell() < BYTES:
        text, extra = f"{number} {SENTENCE * 15}", {"model": "a-model", "reasoning": SENTENCE * 14}
        message = {
            "name": "Alice" if number % 2 == 0 else "Mira",
            "is_user": number % 2 == 0,
            "is_system": False,
            "send_date": "2026-01-01T00:00:00Z",
            "mes": text,
            "swipes": [text],
            "swipe_id": 0,
            "swipe_info": [{"send_date": "2026-01-01T00:00:00Z", "extra": extra}],
            "extra": extra,
        }
        file.write(b"\n" + json.dumps(message, separators=(",", ":")).encode())
        number += 1


def upload(file: IO[bytes]) -> UploadedFile:
    """Return a written file as an upload."""
    size = file.tell()
    file.seek(0)
    return UploadedFile(File(file), name="long.jsonl", size=size)


def _watch(job: ImportJob, worker: int) -> tuple[float, int]:
    """Wait for the job. Return its duration in seconds and the peak memory of a worker process in bytes."""
    peak = 0
    while job.is_active:
        peak = max(peak, _peak(worker, 0.2))
        job.refresh_from_db()
    assert job.started_at
    assert job.finished_at
    return (job.finished_at - job.started_at).total_seconds(), peak


def _peak(worker: int, seconds: float) -> int:
    """Return the peak memory of one of the worker's processes during ``seconds``, in bytes."""
    peak, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.2)
        peak = max([peak, *(_resident(pid) for pid in _processes(worker))])
    return peak


def _processes(group: int) -> list[int]:
    """Return the pids of a process group."""
    pids = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # the process has ended
        if int(fields[2]) == group:
            pids.append(int(stat.parent.name))
    return pids


def _resident(pid: int) -> int:
    """Return the resident memory of a process in bytes, 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
