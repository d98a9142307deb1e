"""Call a model server, with timeouts and retries, and classify its errors."""

import email.utils
import errno
import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Self, TypeVar

import httpx2
from django.utils import timezone

from apps.common.database.connections import release_connection
from apps.common.stored_texts import StoredText, gettext_stored
from apps.llm.failures import http_failure
from apps.llm.generation import GenerationFailed, Misconfigured, ServerSilent, TransientFailure, Watch
from apps.llm.http.addresses import AddressNotAllowed, AddressPolicy
from apps.llm.http.transport import CONNECT_TIMEOUT, CancellationChecker, CheckedTransport
from apps.llm.replies.documents import error_codes, error_document, error_message_from_text, excerpt_of

MAX_SECONDS = 600.0  # total time of a call, including retries and waits
MAX_ATTEMPTS = 3
BACKOFF = 0.5  # seconds before the first retry; doubled for each further one
MAX_WAIT = 60.0  # longest delay before a retry, in seconds; a longer Retry-After fails the call
MAX_ERROR_BYTES = 65_536  # bytes read from an error response
T = TypeVar("T")
_ERROR_NUMBER = re.compile(r"\[Errno -?\d+\]\s*")


@dataclass(frozen=True)
class CallPolicy:
    """Settings for calls to one server: API key, address policy, read timeout and total time limit in seconds."""

    timeout: float
    address_policy: AddressPolicy
    key: str = field(default="", repr=False)
    max_seconds: float = MAX_SECONDS

    def with_time_limit(self, seconds: float) -> Self:
        """Return a copy whose calls take at most ``seconds`` in total."""
        return replace(self, timeout=min(seconds, self.timeout), max_seconds=seconds)

    def call(self, work: Callable[[httpx2.Client], T], watch: Watch, attempts: int = MAX_ATTEMPTS) -> T:
        """Run ``work`` with a client and return its result. Retry transient failures, except those of silent servers.

        Raise GenerationFailed, and any exception of ``watch``.
        """
        checker = CancellationChecker(watch, self.max_seconds)
        for attempt in range(1, attempts):
            try:
                return self._attempt(work, checker)
            except TransientFailure as failure:
                wait = retry_delay(attempt, failure.retry_after)
                is_hopeless = isinstance(failure, ServerSilent) or wait > min(MAX_WAIT, checker.remaining)
                if checker.exception is not None or is_hopeless:
                    raise
                checker.sleep(wait)
        return self._attempt(work, checker)

    def _attempt(self, work: Callable[[httpx2.Client], T], checker: CancellationChecker) -> T:
        release_connection()
        try:
            with self._client(checker) as client:
                return work(client)
        except (GenerationFailed, AddressNotAllowed, httpx2.HTTPError) as error:
            if checker.exception is not None:
                raise checker.exception from None
            failure = error if isinstance(error, GenerationFailed) else self._connection_failure(error, checker)
            failure.detail = self.redacted(failure.detail)
            failure.args = (failure.detail,)
            raise failure from error.__cause__

    def _client(self, checker: CancellationChecker) -> httpx2.Client:
        """Return a client for one attempt. It follows no redirects, since the key is for this server only."""
        return httpx2.Client(
            transport=CheckedTransport(self.address_policy, checker, self.key),
            timeout=httpx2.Timeout(self.timeout, connect=min(CONNECT_TIMEOUT, self.timeout)),
            event_hooks={"response": [self._raise_for_status]},
            follow_redirects=False,
            trust_env=False,
        )

    def _raise_for_status(self, response: httpx2.Response) -> None:
        """Raise GenerationFailed if the response has an error status."""
        if response.is_success:
            return
        received = b"".join(islice(response.iter_bytes(4096), MAX_ERROR_BYTES // 4096)).decode("utf-8", "replace")
        codes = error_codes(error_document(received))
        failure = http_failure(response.status_code, error_message_from_text(received), codes)
        if isinstance(failure, TransientFailure):
            failure.retry_after = retry_after_seconds(response.headers.get("retry-after", ""))
        raise failure

    def _connection_failure(self, error: Exception, checker: CancellationChecker) -> GenerationFailed:
        """Return the failure for an error in the connection."""
        if isinstance(error, AddressNotAllowed):
            return Misconfigured(str(error))
        if isinstance(error, httpx2.TimeoutException):
            if not checker.remaining:
                return ServerSilent(
                    gettext_stored(
                        "The reply was not complete after %(max_seconds)s seconds.", max_seconds=f"{self.max_seconds:g}"
                    )
                )
            if isinstance(error, httpx2.ConnectTimeout):
                return ServerSilent(gettext_stored("The server can't be reached: no connection within the time limit."))
            return ServerSilent(
                gettext_stored("The server was silent for %(timeout)s seconds.", timeout=f"{self.timeout:g}")
            )
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return Misconfigured(gettext_stored("This installation does not trust the server's certificate."))
        if isinstance(error, httpx2.ConnectError):
            return TransientFailure(unreachable_message(error))
        return TransientFailure(gettext_stored("The connection to the server broke."))

    def redacted(self, text: str) -> str:
        """Return the text with the key masked: some servers quote it in their errors."""
        if not self.key:
            return text
        return text.mapped(self.redacted) if isinstance(text, StoredText) else text.replace(self.key, "•••")


def unreachable_message(error: Exception) -> str:
    """Return why no connection was made, without the number that the operating system gives the error."""
    if f"[Errno {errno.ECONNREFUSED}]" in str(error):
        return gettext_stored("The server can't be reached: nothing answers at this address. Is the server running?")
    reason = _ERROR_NUMBER.sub("", str(error))
    return gettext_stored("The server can't be reached: %(value)s", value=excerpt_of(reason))


def retry_after_seconds(header: str) -> float | None:
    """Parse a Retry-After header (seconds or an HTTP date). Return the delay in seconds, or None if it is invalid."""
    try:
        seconds = float(header)
    except ValueError:
        pass
    else:
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    try:
        return max((email.utils.parsedate_to_datetime(header) - timezone.now()).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None


def retry_delay(attempt: int, retry_after: float | None) -> float:
    """Return the seconds to wait after the failed attempt number ``attempt``, counted from 1."""
    if retry_after is not None:
        return retry_after
    return BACKOFF * 2 ** (attempt - 1) * random.uniform(1, 1.25)  # noqa: S311
