"""A server of models: how it is called, tried again, and what its failures mean."""

import email.utils
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Self, TypeVar

import httpx2

from apps.common import clock
from apps.llm.addresses import AddressNotAllowed, AddressPolicy
from apps.llm.generation import GenerationFailed, Misconfigured, TransientFailure, Watch
from apps.llm.reply_documents import excerpt_of, message_of, parsed_json
from apps.llm.transport import CONNECT_TIMEOUT, CheckedTransport, Watcher

MAX_SECONDS = 600.0  # that a call may take in all, tries and waits included
ATTEMPTS = 3
BACKOFF = 0.5  # seconds before the second try; doubled for each further one
MAX_WAIT = 60.0  # seconds that a server may ask to wait
MAX_ERROR_BYTES = 65_536  # that are read of an error reply
T = TypeVar("T")


@dataclass(frozen=True)
class Endpoint:
    """How a server may be called: the key to it, and for how many seconds it may stay silent."""

    timeout: float
    policy: AddressPolicy
    key: str = field(default="", repr=False)
    max_seconds: float = MAX_SECONDS

    def hurried(self, seconds: float) -> Self:
        """The same server, for a call that somebody waits for."""
        return replace(self, timeout=min(seconds, self.timeout), max_seconds=seconds)

    def call(self, work: Callable[[httpx2.Client], T], watch: Watch, attempts: int = ATTEMPTS) -> T:
        """What ``work`` returns, tried again where that may help.

        Raises GenerationFailed, and what ``watch`` raises.
        """
        watcher = Watcher(watch, self.max_seconds)
        for attempt in range(1, attempts):
            try:
                return self._attempt(work, watcher)
            except TransientFailure as failure:
                wait = delay(attempt, failure.retry_after)
                if watcher.raised is not None or wait > min(MAX_WAIT, watcher.remaining):
                    raise
                watcher.sleep(wait)
        return self._attempt(work, watcher)

    def _attempt(self, work: Callable[[httpx2.Client], T], watcher: Watcher) -> T:
        try:
            with self._client(watcher) as client:
                return work(client)
        except (GenerationFailed, AddressNotAllowed, httpx2.HTTPError) as error:
            if watcher.raised is not None:
                raise watcher.raised from None
            failure = error if isinstance(error, GenerationFailed) else self._failure(error, watcher)
            failure.detail = self.scrubbed(failure.detail)
            failure.args = (failure.detail,)
            raise failure from error.__cause__

    def _client(self, watcher: Watcher) -> httpx2.Client:
        """A client for one attempt. It follows no redirect: the key is for this server alone."""
        return httpx2.Client(
            transport=CheckedTransport(self.policy, watcher, self.key),
            timeout=httpx2.Timeout(self.timeout, connect=min(CONNECT_TIMEOUT, self.timeout)),
            event_hooks={"response": [self._refuse_errors]},
            follow_redirects=False,
            trust_env=False,
        )

    def _refuse_errors(self, response: httpx2.Response) -> None:
        """Raises what a reply that is no success means."""
        if response.is_success:
            return
        received = b"".join(islice(response.iter_bytes(4096), MAX_ERROR_BYTES // 4096)).decode("utf-8", "replace")
        failure = failure_of(response.status_code, message_of(received), is_quota(received))
        if isinstance(failure, TransientFailure):
            failure.retry_after = seconds_of(response.headers.get("retry-after", ""))
        raise failure

    def _failure(self, error: Exception, watcher: Watcher) -> GenerationFailed:
        """What an error of the connection means."""
        if isinstance(error, AddressNotAllowed):
            return Misconfigured(str(error))
        if isinstance(error, httpx2.TimeoutException):
            if not watcher.remaining:
                return GenerationFailed(f"The reply was not complete after {self.max_seconds:g} seconds.")
            if isinstance(error, httpx2.ConnectTimeout):
                return TransientFailure("The server can't be reached: no connection within the time limit.")
            return TransientFailure(f"The server was silent for {self.timeout:g} seconds.")
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return Misconfigured("The server's certificate is not one that this installation trusts.")
        if isinstance(error, httpx2.ConnectError):
            return TransientFailure(f"The server can't be reached: {excerpt_of(str(error))}")
        return TransientFailure("The connection to the server broke.")

    def scrubbed(self, text: str) -> str:
        """Without the key, should a server repeat it."""
        return text.replace(self.key, "•••") if self.key else text


def failure_of(status: int, message: str, quota: bool = False) -> GenerationFailed:
    """What an HTTP status means for the person whose connection it is."""
    failure = _meaning(status, message, quota)
    failure.server_status = status
    if isinstance(failure, Misconfigured):
        failure.wrong_address = status in (404, 405)
    return failure


def _meaning(status: int, message: str, quota: bool) -> GenerationFailed:
    said = f" It says: {message}" if message else ""
    if status in (401, 403):
        return Misconfigured(f"The server refuses the key, or what it may be used for ({status}).{said}")
    if status in (404, 405):
        return Misconfigured(f"The server knows no such address or model ({status}).{said}")
    if status == 402 or quota:
        return Misconfigured(f"The account at the server has nothing left to spend ({status}).{said}")
    if status == 429:
        return TransientFailure(f"The server has too much to do, or allows no more calls for now (429).{said}")
    if status >= 500 or status in (408, 409, 425):
        return TransientFailure(f"The server failed ({status}).{said}")
    if 300 <= status < 400:
        return Misconfigured(f"The server sends elsewhere ({status}). Give the address that it sends to.")
    return Misconfigured(f"The server refuses the request ({status}).{said}")


def is_quota(body: str) -> bool:
    """Whether a 429 means that no wait will help."""
    parsed = parsed_json(body)
    error = parsed.get("error") if isinstance(parsed, dict) else None
    return isinstance(error, dict) and "insufficient_quota" in (error.get("code"), error.get("type"))


def seconds_of(retry_after: str) -> float | None:
    """What a Retry-After header asks for: seconds, or a date."""
    try:
        return max(float(retry_after), 0.0)
    except ValueError:
        pass
    try:
        return max((email.utils.parsedate_to_datetime(retry_after) - clock.now()).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None


def delay(attempt: int, retry_after: float | None) -> float:
    """Seconds to wait after the ``attempt``-th try, the first being 1."""
    if retry_after is not None:
        return retry_after
    return BACKOFF * 2 ** (attempt - 1) * random.uniform(1, 1.25)  # noqa: S311
