"""Keeps a few services running as child processes, and ends them all together."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType

from django.conf import settings

POLL_INTERVAL = 0.2  # seconds
RESTART_DELAY = 1.0  # seconds
CRASHES_ALLOWED, CRASH_WINDOW = 5, 60.0  # times in seconds; past that a service is broken, not unlucky
STOP_GRACE = 10.0  # seconds until services that do not stop are killed

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>


class Stopped(BaseException):
    """Somebody asked us to stop."""


class ServiceFailed(RuntimeError):
    """A service keeps dying."""


@dataclass
class Service:
    """A program to keep running, in a process group of its own."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    crashes: deque[float] = field(default_factory=lambda: deque(maxlen=CRASHES_ALLOWED))

    def start(self) -> None:
        self.process = spawn(self.command, self.environment)

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def send(self, signum: int) -> None:
        """Send a signal to the service and whatever it has started."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signum)

    def revive(self) -> None:
        """Start it again after a crash; raises `ServiceFailed` if that happens too often."""
        assert self.process is not None
        say(f"{self.name} {ending(self.process.returncode)}; starting it again.")
        self.send(signal.SIGKILL)  # children that outlived it
        earlier, moment = len(self.crashes) == CRASHES_ALLOWED, time.monotonic()
        if earlier and moment - self.crashes[0] < CRASH_WINDOW:
            raise ServiceFailed(f"{self.name} keeps dying: {ending(self.process.returncode)}; see its output above.")
        self.crashes.append(moment)
        time.sleep(RESTART_DELAY)
        self.start()


def keep_running(services: Sequence[Service], also: Callable[[], None]) -> None:
    """Watch over services until `Stopped` or `ServiceFailed` is raised; `also` is called at every look."""
    while True:
        for service in services:
            if not service.alive:
                service.revive()
        also()
        time.sleep(POLL_INTERVAL)


@contextlib.contextmanager
def stopping(services: Sequence[Service]) -> Iterator[None]:
    """On leaving, end all services: politely, then, past the grace period or at a second signal, by force."""
    for signum in STOP_SIGNALS:
        signal.signal(signum, raise_stopped)
    try:
        yield
    finally:
        impatience = Impatience()
        for service in services:
            if service.process is not None and service.alive:
                service.process.terminate()
        deadline = time.monotonic() + STOP_GRACE
        while any(service.alive for service in services) and not impatience and time.monotonic() < deadline:
            time.sleep(POLL_INTERVAL / 4)
        for service in services:
            service.send(signal.SIGKILL)
            if service.process is not None:
                service.process.wait()


class Impatience:
    """True after one more stop signal; while it listens, signals interrupt nothing."""

    def __init__(self) -> None:
        self.shown = False
        for signum in STOP_SIGNALS:
            signal.signal(signum, self.show)

    def show(self, signum: int, frame: FrameType | None) -> None:
        self.shown = True

    def __bool__(self) -> bool:
        return self.shown


def raise_stopped(signum: int, frame: FrameType | None) -> None:
    raise Stopped


def spawn(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a child that no Ctrl-C on our terminal reaches, and that ends if we are killed."""
    return subprocess.Popen(  # noqa: S603
        command,
        cwd=settings.ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=end_with_parent,
    )


_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with_parent() -> None:
    """In a child: ask the kernel for SIGTERM when the parent dies (Linux only)."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def ending(returncode: int) -> str:
    """How a process ended, in words."""
    if returncode < 0:
        return f"was ended by {signal.Signals(-returncode).name}"
    return f"exited with status {returncode}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
