"""HTTP transport with address checks at connection time and cancellable calls.

The host is resolved once, each address is checked, and the connection goes to a checked address, which defeats DNS
rebinding: a name that resolves to another address the second time. The Host header and the certificate check keep
the name.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterable
from functools import cache
from ssl import SSLContext
from typing import Any, TypeVar

import httpcore2
import httpx2

from apps.common.database.connections import release_connection
from apps.llm.generation import Watch
from apps.llm.http.addresses import AddressNotAllowed, AddressPolicy, refusal_message

TICK = 1.0  # seconds between two calls of the watch
CONNECT_TIMEOUT = 10.0  # seconds each for resolving, connecting and the TLS handshake
ALLOWED_HEADERS = frozenset({"host", "accept", "connection", "content-type", "content-length", "transfer-encoding"})
T = TypeVar("T")


class CancellationChecker:
    """Call ``watch`` about once a second during a call, and track the call's deadline."""

    def __init__(self, watch: Watch, seconds: float) -> None:
        self._watch = watch
        self._next_tick = time.monotonic() + TICK
        self.deadline = time.monotonic() + seconds
        self.exception: BaseException | None = None

    @property
    def remaining(self) -> float:
        """Return the seconds until the deadline, at least 0."""
        return max(self.deadline - time.monotonic(), 0.0)

    def tick(self) -> None:
        """Call the watch if a tick has passed, and keep none of its connections. Store and raise its exception."""
        if time.monotonic() < self._next_tick:
            return
        self._next_tick = time.monotonic() + TICK
        try:
            self._watch()
        except BaseException as error:
            self.exception = error
            raise
        finally:
            release_connection()

    def sleep(self, seconds: float) -> None:
        """Sleep, calling the watch meanwhile."""
        wake_time = time.monotonic() + seconds
        while (remaining := wake_time - time.monotonic()) > 0:
            time.sleep(min(remaining, TICK))
            self.tick()

    def wait_for(self, work: Callable[[], T]) -> T:
        """Run blocking ``work`` in a thread, calling the watch meanwhile. Return its result or raise its exception.

        If the watch aborts, the thread is abandoned: neither DNS nor TLS calls can be interrupted.
        """
        outcome: list[tuple[bool, Any]] = []
        thread = threading.Thread(target=_run, args=(work, outcome), daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(TICK)
            self.tick()
        succeeded, value = outcome[0]
        if not succeeded:
            raise value
        return value


def _run(work: Callable[[], Any], outcome: list[tuple[bool, Any]]) -> None:
    try:
        outcome.append((True, work()))
    except BaseException as error:
        outcome.append((False, error))


class CancellableStream(httpcore2.NetworkStream):
    """Connection that calls the watch during reads and writes."""

    def __init__(self, stream: httpcore2.NetworkStream, checker: CancellationChecker) -> None:
        self._stream = stream
        self._checker = checker

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read, waiting at most ``timeout`` seconds and never beyond the call's deadline."""
        deadline = min(time.monotonic() + (timeout or CONNECT_TIMEOUT), self._checker.deadline)
        while True:
            try:
                received = self._stream.read(max_bytes, max(min(TICK, deadline - time.monotonic()), 0.001))
                self._checker.tick()
                return received
            except httpcore2.ReadTimeout:
                self._checker.tick()
                if time.monotonic() >= deadline:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of ``buffer``."""
        self._checker.wait_for(lambda: self._stream.write(buffer, timeout))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """Return the connection after a TLS handshake."""
        stream = self._checker.wait_for(lambda: self._stream.start_tls(ssl_context, server_hostname, timeout))
        return CancellableStream(stream, self._checker)

    def get_extra_info(self, info: str) -> Any:
        """Return the wrapped connection's information."""
        return self._stream.get_extra_info(info)


class CheckedBackend(httpcore2.NetworkBackend):
    """Network backend that connects only to addresses that the policy permits."""

    def __init__(self, policy: AddressPolicy, checker: CancellationChecker) -> None:
        self._policy = policy
        self._checker = checker
        self._backend = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to a host. Raise AddressNotAllowed, httpcore2.ConnectError, httpcore2.ConnectTimeout."""
        return CancellableStream(self._checker.wait_for(lambda: self._connect(host, port, timeout)), self._checker)

    def _connect(self, host: str, port: int, timeout: float | None) -> httpcore2.NetworkStream:
        """Connect to the first of the host's addresses that answers."""
        failure: Exception | None = None
        for address in checked_addresses(self._policy, host, port):
            try:
                return self._backend.connect_tcp(address, port, timeout, None, ())
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore2.ConnectError(f"{host} has no address.")


def checked_addresses(policy: AddressPolicy, host: str, port: int) -> list[str]:
    """Resolve a host. Raise AddressNotAllowed if any of its addresses is not allowed, even if others are."""
    try:
        results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore2.ConnectError(f"{host} can't be found.") from error
    addresses = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in results))
    if not all(policy.permits(address, host) for address in addresses):
        raise AddressNotAllowed(refusal_message(host))
    return addresses


class CheckedTransport(httpx2.HTTPTransport):
    """HTTPX transport over checked, cancellable connections; ignores proxies named in the environment."""

    def __init__(
        self,
        policy: AddressPolicy,
        checker: CancellationChecker,
        key: str = "",
        allowed_headers: frozenset[str] = ALLOWED_HEADERS,
    ) -> None:
        super().__init__(verify=tls_context(), trust_env=False)
        self._policy = policy
        self._key = key
        self._allowed_headers = allowed_headers
        self._pool = httpcore2.ConnectionPool(
            ssl_context=tls_context(), network_backend=CheckedBackend(policy, checker), max_keepalive_connections=0
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request after checking its URL. Raise AddressNotAllowed."""
        self._policy.checked_url(str(request.url))
        return super().handle_request(outgoing_request(request, self._key, self._allowed_headers))


def outgoing_request(request: httpx2.Request, key: str, allowed: frozenset[str] = ALLOWED_HEADERS) -> httpx2.Request:
    """Return the request with only necessary headers, since SDKs add others that describe this machine."""
    headers = {name: value for name, value in request.headers.items() if name.lower() in allowed}
    if key:
        headers["authorization"] = f"Bearer {key}"
    return httpx2.Request(
        request.method,
        request.url,
        headers=headers | {"user-agent": "Loci", "accept-encoding": "identity"},
        stream=request.stream,
        extensions=request.extensions,
    )


@cache
def tls_context() -> SSLContext:
    """Return the TLS context with the trusted authorities or those of ``SSL_CERT_FILE``, loaded once."""
    return httpx2.create_ssl_context()
