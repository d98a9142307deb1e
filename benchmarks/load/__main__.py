"""``python -m benchmarks.load``: users at work for some minutes, while processes of Loci are killed.

Loci runs by ``manage.py up`` on a temporary data folder. Every KILL_INTERVAL seconds the processes of one worker are
killed by SIGKILL, the web server once, and the database is restarted once. At the end, every write that was
acknowledged must be there once and unchanged, and every run must have ended.
"""

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path

USERS = int(os.environ.get("LOAD_USERS_COUNT", "200"))
SECONDS = int(os.environ.get("LOAD_SECONDS", "300"))
ONE_WORKER = "config.one_worker "  # what the command of the small form's worker ends with
KILL_INTERVAL = 20.0  # seconds
SETTLE = 20.0  # seconds after the start, in which what is loaded in the background is
RUNS_MAX_WAIT = 900.0  # seconds after the load, in which all runs must end


def main(locust: str) -> None:
    """Run the load with the program ``locust`` and print what became of it."""
    with tempfile.TemporaryDirectory(prefix="loci-load-") as folder:
        home = Path(folder)
        # As root, the database runs as another user, who has to traverse the folder.
        home.chmod(0o711)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        os.environ |= {
            "LOCI_HOME": folder,
            "LOCI_HOST": "127.0.0.1",
            "LOCI_PORT": str(port),
            "DEMO": "off",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "LOG_LEVEL": "CRITICAL",
        }
        import django

        from apps.launcher import embedded_postgres

        django.setup()
        with embedded_postgres.running(home), _loci(home) as supervisor:
            _create_users(home)
            time.sleep(SETTLE)
            _print_memory("idle", supervisor, home)
            process = _start_locust(locust, home, f"http://127.0.0.1:{port}")
            _kill_while_running(process, supervisor, home)
            _print_memory("after the load", supervisor, home)
            _report(home)
            missing = _missing_writes(home)
            print(f"acknowledged writes lost, changed or stored twice: {len(missing)}")
            print("\n".join(missing[:10]))
            print(f"jobs by kind and state after at most {RUNS_MAX_WAIT:g} s: {_wait_for_runs()}", flush=True)


@contextmanager
def _loci(home: Path) -> Iterator[int]:
    """Run ``manage.py up``. Yield the id of its process once it is ready."""
    with (home / "up.log").open("w") as log:
        process = subprocess.Popen([sys.executable, "manage.py", "up"], stdout=log, stderr=log)
    try:
        while "is ready" not in (home / "up.log").read_text():
            if process.poll() is not None:
                raise RuntimeError((home / "up.log").read_text())
            time.sleep(0.5)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _create_users(home: Path) -> None:
    from apps.accounts.models import User
    from apps.accounts.operations import create_token
    from apps.chats.operations import create_character, create_chat

    with (home / "users.jsonl").open("w") as file:
        for number in range(USERS):
            user = User.objects.create_user(f"load-{number}@example.com")
            character = create_character(user, name="Mira")
            chat = create_chat(user, title="Load", character=character, user_name="Alice")
            _, secret = create_token(user, name="load")
            file.write(json.dumps({"chat": str(chat.pk), "secret": secret}) + "\n")


def _start_locust(locust: str, home: Path, url: str) -> "subprocess.Popen[bytes]":
    command = [locust, "--headless", "--locustfile", str(Path(__file__).parent / "users.py"), "--host", url]
    command += ["--users", str(USERS), "--spawn-rate", "10", "--run-time", f"{SECONDS}s", "--stop-timeout", "60"]
    command += ["--csv", str(home / "load"), "--only-summary", "--loglevel", "ERROR"]
    files = {"LOAD_USERS": str(home / "users.jsonl"), "LOAD_WRITES": str(home / "writes.jsonl")}
    with (home / "locust.log").open("w") as log:
        return subprocess.Popen(command, env={**os.environ, **files}, stdout=log, stderr=log)


def _kill_while_running(process: "subprocess.Popen[bytes]", supervisor: int, home: Path) -> None:
    """Kill processes of Loci until the load ends."""
    from django.conf import settings

    kills, begun, number = {"workers": 0, "web": 0, "database": 0}, time.monotonic(), 0
    queues = cycle(settings.QUEUES)
    while process.poll() is None:
        number += 1
        while process.poll() is None and time.monotonic() < begun + number * KILL_INTERVAL:
            time.sleep(0.2)
        if process.poll() is not None:
            break
        queue = next(queues)
        kills["workers"] += _kill(supervisor, ONE_WORKER if settings.LOCI_FORM == "small" else f"--queues {queue} ")
        elapsed = time.monotonic() - begun
        if elapsed > SECONDS / 3 and not kills["database"]:
            kills["database"] += _restart_database(home)
        elif elapsed > SECONDS * 2 / 3 and not kills["web"]:
            kills["web"] += _kill(supervisor, "gunicorn")
    print(f"killed: {kills}")


def _kill(supervisor: int, words: str) -> int:
    """Kill the process group of the service whose command has these words. Return 1 if there was one."""
    import psutil

    for child in psutil.Process(supervisor).children():
        with suppress(psutil.Error):  # it has ended meanwhile
            if words in " ".join(child.cmdline()) + " ":
                os.killpg(child.pid, signal.SIGKILL)
                return 1
    return 0


def _restart_database(home: Path) -> int:
    """End the database at once, as a machine does that restarts; the supervisor starts it again."""
    os.kill(_postmaster(home), signal.SIGINT)  # a fast shutdown: connections are ended, transactions rolled back
    return 1


def _print_memory(when: str, supervisor: int, home: Path) -> None:
    """Print the memory of all processes of Loci and of its database; what processes share is divided among them."""
    import psutil

    shares = Counter[str]()
    for root in (psutil.Process(supervisor), psutil.Process(_postmaster(home))):
        for process in [root, *root.children(recursive=True)]:
            with suppress(psutil.Error):  # it has ended meanwhile
                shares["database" if root.pid != supervisor else "Loci"] += process.memory_full_info().pss
    parts = ", ".join(f"{name} {size / 2**20:.0f}" for name, size in shares.items())
    print(f"memory {when}: {shares.total() / 2**20:.0f} MB ({parts})", flush=True)


def _postmaster(home: Path) -> int:
    return int(next((home / "postgres").resolve().rglob("postmaster.pid")).read_text().split()[0])


def _report(home: Path) -> None:
    """Print requests, failures and times of each operation."""
    with (home / "load_stats.csv").open() as file:
        for row in csv.DictReader(file):
            total, failed = int(row["Request Count"]), int(row["Failure Count"])
            share = failed / total if total else 0.0
            print(
                f"{row['Name']:16} {total:6} requests  {failed:4} failed ({share:.2%})"
                f"  p50 {row['50%']:>6} ms  p95 {row['95%']:>6} ms"
            )
    print((home / "locust.log").read_text()[-3000:])


def _missing_writes(home: Path) -> list[str]:
    """Return what is wrong with acknowledged writes: the last text of each message, and texts that occur twice."""
    from django.db import connection

    from apps.chats.models import Chat, Message
    from apps.common.scoping import system_scope

    lines = [json.loads(line) for line in (home / "writes.jsonl").read_text().splitlines()]
    expected: dict[str, set[str]] = {}  # the acknowledged text, and those sent since, which may be stored or not
    for line in lines:
        if line["acknowledged"]:
            expected[line["message"]] = {line["text"]}
        else:
            expected[line["message"]].add(line["text"])
    connection.close()
    with system_scope():
        rows = list(Message.objects.all().values_list("pk", "chat_id", "index", "swipes__mes"))
        counts = dict(Chat.objects.all().values_list("pk", "message_count"))
    stored = {str(pk): text for pk, _, _, text in rows}
    wrong = [
        f"{pk}: {stored.get(pk, 'lost')[:40]!r} instead of {texts}"
        for pk, texts in expected.items()
        if stored.get(pk) not in texts
    ]
    times = Counter((chat, text) for _, chat, _, text in rows)
    wrong += [f"stored {count} times: {text[:40]!r}" for (_, text), count in times.items() if count > 1]
    for chat, total in counts.items():
        indices = sorted(index for _, of, index, _ in rows if of == chat)
        if indices != list(range(total)):
            wrong.append(f"gaps in {chat}: {total} messages, {len(indices)} stored")
    acknowledged = sum(line["acknowledged"] for line in lines)
    print(f"{acknowledged} texts acknowledged, of {len(expected)} messages; {len(rows)} messages stored")
    return wrong


def _wait_for_runs() -> dict[str, int]:
    """Wait until all jobs have ended, at most RUNS_MAX_WAIT seconds. Return their numbers by kind and state."""
    from apps.common.jobs import OPEN_STATES, kinds
    from apps.common.scoping import system_scope

    deadline = time.monotonic() + RUNS_MAX_WAIT
    while True:
        with system_scope():
            states = Counter(
                f"{kind.model.__name__} {state}"
                for kind in kinds
                for state in kind.model._base_manager.values_list("state", flat=True)
            )
        is_open = any(name.split()[1] in OPEN_STATES for name in states)
        if not is_open or time.monotonic() > deadline:
            return dict(sorted(states.items()))
        time.sleep(2)


if __name__ == "__main__":
    main(sys.argv[1])
