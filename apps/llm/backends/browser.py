"""Generation backend whose model runs in an open page of its owner, within the daily limit."""

import time
from contextlib import nullcontext

from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.common.database.connections import release_connection
from apps.common.stored_texts import gettext_stored
from apps.llm.backends.connected import attach_partial_reply
from apps.llm.browser import calls
from apps.llm.generation import (
    Completion,
    GenerationFailed,
    GenerationRequest,
    Listener,
    Misconfigured,
    Profile,
    Refused,
    TransientFailure,
    Watch,
    unwatched,
)
from apps.llm.models import BrowserCall, Connection
from apps.llm.operations import record_usage
from apps.llm.places import place_on
from apps.llm.replies.reply import Reply
from apps.llm.usage.limits import check_limit

POLL_INTERVAL = 0.25  # seconds between two looks at the call
WATCH_INTERVAL = 1.0  # seconds between two calls of the watch
NO_PAGE = gettext_noop(
    "No page runs your model. Open Settings, Models, “In the browser”, load it, and keep the page open."
)
State = BrowserCall.State


class BrowserBackend:
    """Generation backend on an owner's connection to a model in the browser.

    Calls wait for a place on the connection, unless a person waits (``is_urgent``). A call fails at once if no page is
    open, so that it does not block a worker: when a page opens, the runs that wait are resumed.
    """

    name = Connection.Backend.BROWSER.value
    profile: Profile = "A"

    def __init__(self, connection: Connection, *, is_urgent: bool = False) -> None:
        self._connection = connection
        self._is_urgent = is_urgent
        self.model: str = connection.model
        self.context_tokens: int = connection.context_tokens

    def generate(
        self, request: GenerationRequest, watch: Watch = unwatched, listener: Listener | None = None
    ) -> Completion:
        """Return the model's reply. Raise GenerationFailed, and any exception of ``watch`` and ``listener``.

        ``listener`` gets the text so far about once a second.
        """
        check_limit(self._connection.owner_id)
        # A call that a person waits for needs no place: the page takes it before all others.
        place = nullcontext(watch) if self._is_urgent else place_on(self._connection, watch)
        with place as renewing_watch:
            call = calls.create_call(self._connection, request, is_urgent=self._is_urgent)
            reply = Reply()
            try:
                _wait(call, self._connection.timeout, reply, renewing_watch, listener)
            except GenerationFailed as failure:
                attach_partial_reply(failure, [reply.completion(request)])
                raise
            finally:
                calls.finish_call(call)
                self._record_usage(reply.completion(request))
        return reply.completion(request)

    def _record_usage(self, completion: Completion) -> None:
        if completion.prompt_tokens or completion.completion_tokens:
            record_usage(self._connection.owner_id, self.model, completion.prompt_tokens, completion.completion_tokens)


def _wait(call: BrowserCall, timeout: float, reply: Reply, watch: Watch, listener: Listener | None) -> None:
    """Wait until the call has ended, and copy its text to ``reply``. Raise GenerationFailed.

    The time-out begins again when a page claims the call and with each new text.
    """
    last_progress: object = None
    last_progress_at = next_watch = time.monotonic()
    while True:
        row = calls.current_call(call)
        if row is None:
            raise Misconfigured(gettext_stored("The connection was deleted."))
        _copy(row, reply)
        if reply.finished:
            return
        now = time.monotonic()
        if (progress := (row.claimed_by, row.text)) != last_progress:
            last_progress, last_progress_at = progress, now
        _check(row, now - last_progress_at, timeout)
        if now >= next_watch:
            watch()
            calls.renew_call(call)
            if listener and reply.characters:
                listener(reply.text)
            next_watch = now + WATCH_INTERVAL
        release_connection()
        time.sleep(POLL_INTERVAL)


def _copy(row: BrowserCall, reply: Reply) -> None:
    """Copy what a page has posted so far."""
    reply.texts, reply.characters = [row.text], len(row.text)
    reply.prompt_tokens, reply.completion_tokens = row.prompt_tokens, row.completion_tokens
    reply.finished, reply.cut_off = row.state == State.ANSWERED, row.cut_off


def _check(row: BrowserCall, silence: float, timeout: float) -> None:
    """Raise GenerationFailed if the call has failed, nothing came for too long, or no page is there to run it."""
    if row.state == State.FAILED:
        failure = Refused if row.refused else TransientFailure
        raise failure(gettext_stored("The page could not run the model. It says: %(error)s", error=row.error))
    if row.state == State.WITHDRAWN:
        raise TransientFailure(gettext_stored("The call was withdrawn, since nobody seemed to wait for it."))
    if silence > timeout:
        raise TransientFailure(
            gettext_stored("The page with your model was silent for %(timeout)s seconds.", timeout=f"{timeout:g}")
        )
    is_held = row.claimed_until is not None and row.claimed_until > timezone.now()
    if not is_held and not calls.is_page_open(row.connection.page_seen_at):
        raise TransientFailure(gettext_stored(NO_PAGE))
