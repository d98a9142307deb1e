"""Asynchronous HTTP client with the address checks of ``transport``, for replies that are passed on as they arrive."""

import asyncio
from collections.abc import Iterable

import httpcore2
import httpx2

from apps.llm.http.addresses import AddressPolicy
from apps.llm.http.endpoint import CallPolicy
from apps.llm.http.transport import CONNECT_TIMEOUT, checked_addresses, outgoing_request, tls_context


class AsyncCheckedBackend(httpcore2.AsyncNetworkBackend):
    """Network backend that connects only to addresses that the policy permits."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy
        self._backend = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a host. Raise AddressNotAllowed, httpcore2.ConnectError, httpcore2.ConnectTimeout."""
        failure: Exception | None = None
        for address in await asyncio.to_thread(checked_addresses, self._policy, host, port):
            try:
                return await self._backend.connect_tcp(address, port, timeout, None, ())
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore2.ConnectError(f"{host} has no address.")


class AsyncCheckedTransport(httpx2.AsyncHTTPTransport):
    """HTTPX transport over checked connections; ignores proxies named in the environment."""

    def __init__(self, policy: AddressPolicy, key: str = "") -> None:
        super().__init__(verify=tls_context(), trust_env=False)
        self._policy = policy
        self._key = key
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls_context(), network_backend=AsyncCheckedBackend(policy), max_keepalive_connections=0
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request after checking its URL. Raise AddressNotAllowed."""
        self._policy.checked_url(str(request.url))
        return await super().handle_async_request(outgoing_request(request, self._key))


def async_client(policy: CallPolicy) -> httpx2.AsyncClient:
    """Return a client for one call. It follows no redirects, since the key is for this server only."""
    return httpx2.AsyncClient(
        transport=AsyncCheckedTransport(policy.address_policy, policy.key),
        timeout=httpx2.Timeout(policy.timeout, connect=min(CONNECT_TIMEOUT, policy.timeout)),
        follow_redirects=False,
        trust_env=False,
    )
