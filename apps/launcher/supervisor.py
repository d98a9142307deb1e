"""Process supervisor: runs services as child processes, restarts crashed ones, and stops all of them."""

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
from functools import partial
from types import FrameType

from django.conf import settings

POLL_INTERVAL = 0.2  # seconds
RESTART_DELAY = 1.0  # seconds
MAX_CRASHES, CRASH_WINDOW = 5, 60.0  # a service that crashes more often within these seconds keeps crashing
PAUSE = 60.0  # seconds after which one without which the web server goes on is started again
STOP_TIMEOUT = 10.0  # seconds after which services that did not stop are killed

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>


class StopRequested(BaseException):
    """A stop signal was received."""


class ServiceFailed(RuntimeError):
    """A service crashed too often, or did not start."""


class KeepsCrashing(ServiceFailed):
    """A service crashed more than MAX_CRASHES times within CRASH_WINDOW, or before all were ready."""


@dataclass
class Service:
    """A program that the supervisor restarts after a crash, in its own process group.

    Without one that ``is_essential``, nothing is served.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    niceness: int = 0
    is_essential: bool = False
    paused_until: float = 0.0
    process: subprocess.Popen[bytes] | None = None
    crashes: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_CRASHES))

    def start(self) -> None:
        """Start the process."""
        self.process = spawn(self.command, self.environment, self.niceness)

    @property
    def alive(self) -> bool:
        """Return whether the process is running."""
        return self.process is not None and self.process.poll() is None

    def send(self, signum: int) -> None:
        """Send a signal to the service's process group."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signum)

    def restart(self, window: float) -> None:
        """Start the service again after a crash. Raise KeepsCrashing if it crashed too often within ``window``."""
        assert self.process is not None
        self.send(signal.SIGKILL)  # to end children that outlived the service
        now, reason = time.monotonic(), exit_reason(self.process.returncode)
        if len(self.crashes) == MAX_CRASHES and now - self.crashes[0] < window:
            raise KeepsCrashing(f"{self.name} keeps crashing: {reason}; see its output above.")
        print_status(f"{self.name} {reason}; starting it again.")
        self.crashes.append(now)
        time.sleep(RESTART_DELAY)
        self.start()

    def restart_or_pause(self) -> None:
        """Start the service again after a crash, or pause it for PAUSE. Raise KeepsCrashing if it is essential."""
        if time.monotonic() < self.paused_until:
            return
        try:
            self.restart(CRASH_WINDOW)
        except KeepsCrashing as error:
            if self.is_essential:
                raise
            print_status(f"{error} Loci goes on without it, its work waits, and it is started again in {PAUSE:g} s.")
            self.paused_until = time.monotonic() + PAUSE


def keep_running(services: Sequence[Service], checks: Sequence[Callable[[], None]]) -> None:
    """Restart crashed services until StopRequested or ServiceFailed is raised. Call ``checks`` in every interval.

    While the worker keeps crashing, the web server goes on: what is stored can be read and added to, and ``/readyz/``
    says that there is no worker.
    """
    while True:
        look_after(services, checks, Service.restart_or_pause)
        time.sleep(POLL_INTERVAL)


def look_after(
    services: Sequence[Service], checks: Sequence[Callable[[], None]], restart: Callable[[Service], None]
) -> None:
    """Restart the services that have crashed, and call ``checks``. Raise ServiceFailed."""
    for service in services:
        if not service.alive:
            restart(service)
    for check in checks:
        check()


@contextlib.contextmanager
def stopping(services: Sequence[Service]) -> Iterator[None]:
    """Stop all services on leaving the block: by SIGTERM, and after STOP_TIMEOUT or a second signal by SIGKILL."""
    for signum in STOP_SIGNALS:
        signal.signal(signum, raise_stopped)
    try:
        yield
    finally:
        second_signal = SecondSignal()
        for service in services:
            if service.process is not None and service.alive:
                service.process.terminate()
        deadline = time.monotonic() + STOP_TIMEOUT
        while any(service.alive for service in services) and not second_signal.received and time.monotonic() < deadline:
            time.sleep(POLL_INTERVAL / 4)
        for service in services:
            service.send(signal.SIGKILL)
            if service.process is not None:
                service.process.wait()


class SecondSignal:
    """Signal handler that records a further stop signal instead of raising StopRequested."""

    def __init__(self) -> None:
        self.received = False
        for signum in STOP_SIGNALS:
            signal.signal(signum, self.handle)

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """Record the signal."""
        self.received = True


def raise_stopped(signum: int, frame: FrameType | None) -> None:
    """Handle a stop signal by raising StopRequested."""
    raise StopRequested


def spawn(command: Sequence[str], environment: Mapping[str, str], niceness: int) -> subprocess.Popen[bytes]:
    """Start a child process that Ctrl-C on this terminal does not reach, and that ends when this process is killed.

    It gives way to others by ``niceness``, without the program `nice`, which small containers lack.
    """
    return subprocess.Popen(  # noqa: S603
        command,
        cwd=settings.ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=partial(prepare_child, niceness),
    )


_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def prepare_child(niceness: int) -> None:
    """Lower the priority, and ask the kernel for a SIGTERM when the parent dies; runs in the child.

    Only Linux has such a signal.
    """
    os.nice(niceness)
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def exit_reason(returncode: int) -> str:
    """Return how a process ended, in words."""
    if returncode < 0:
        return f"was ended by {signal.Signals(-returncode).name}"
    return f"exited with status {returncode}"


def print_status(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr, flush=True)
