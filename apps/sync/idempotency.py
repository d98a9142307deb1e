"""Replay the stored response to a repeated write with the same Idempotency-Key, at every endpoint of the API."""

import datetime as dt
import hashlib
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve

from apps.accounts.authentication import authenticated_namespace, authenticated_user_id
from apps.common.api.problems import problem_response
from apps.common.http.request_bodies import API_PREFIX, CHUNK_BYTES, is_multipart, rewindable_body
from apps.common.http.retries import KEY_HEADER, response_after
from apps.common.problems import Invalid, Problem, ProblemType
from apps.common.scoping import OWN_NAMESPACE, system_scope
from apps.sync.models import IdempotencyRecord

MAX_KEY_LENGTH = 255
WRITES = ("POST", "PUT", "PATCH", "DELETE")


class KeyReused(Problem):
    """A write with this Idempotency-Key is stored, and its response can't be given again."""

    status = 422
    type = ProblemType.IDEMPOTENCY_KEY_REUSED
    title = "A write with this Idempotency-Key is already stored"


class IdempotencyMiddleware:
    """Store the response to a write with an Idempotency-Key in the write's transaction, and replay it for retries.

    Views with ``ignores_idempotency_key`` get no transaction. An error response rolls it back and is not stored, so
    that a retry is executed again.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = request.headers.get(KEY_HEADER)
        if key is None or request.method not in WRITES or not request.path.startswith(API_PREFIX):
            return self.get_response(request)
        try:
            owner_id = authenticated_user_id(request)
            # Without a user, the response is a 401. A view that ignores keys waits for a model: a transaction around
            # that would hold a connection and the key's lock for minutes.
            if owner_id is None or _is_ignored(request):
                return self.get_response(request)
            return self._respond_once(request, owner_id, key)
        except Problem as problem:
            return problem_response(problem)
        except (DatabaseError, InterfaceError) as error:
            # Deferred constraints are checked when the transaction ends, outside of the view.
            if response := response_after(request, error):
                return response
            raise

    def _respond_once(self, request: HttpRequest, owner_id: UUID, key: str) -> HttpResponse:
        """Return the stored response, or that of the view. Raise Invalid, KeyReused."""
        if not 0 < len(key) <= MAX_KEY_LENGTH:
            raise Invalid(f"The header {KEY_HEADER} must have 1 to {MAX_KEY_LENGTH} characters.")
        namespace = authenticated_namespace(request)
        key = _key_in(namespace, key)
        fingerprint = _fingerprint(request)
        with transaction.atomic():
            _lock_key(owner_id, key)
            record = IdempotencyRecord.objects.for_owner(owner_id).filter(key=key).first()
            if record is not None:
                return _replay(record, fingerprint)
            response = self.get_response(request)
            if 200 <= response.status_code < 300:
                IdempotencyRecord.objects.create(
                    owner_id=owner_id,
                    namespace=namespace,
                    key=key,
                    fingerprint=fingerprint,
                    status=response.status_code,
                    body=response.content.decode(),
                )
            else:
                transaction.set_rollback(True)
            return response


def drop_old_bodies(now: dt.datetime) -> int:
    """Drop the bodies of responses older than IDEMPOTENCY_HOURS. Return how many were dropped.

    Bodies hold texts and may be large. The keys remain, so that a later retry is refused instead of executed again.
    """
    before = now - dt.timedelta(hours=settings.IDEMPOTENCY_HOURS)
    with system_scope():
        return IdempotencyRecord.objects.filter(created_at__lt=before, body__isnull=False).update(body=None)


def drop_bodies_of_namespace(owner_id: UUID, namespace: str, **kwargs: Any) -> None:
    """Receive ``chat_erased`` and ``namespace_erased``: drop the bodies of responses that may hold what was deleted.

    A response may tell texts of a chat without naming it, so all of the chat's namespace go. A token that
    is bound to no namespace writes in all of them, and its responses don't say in which: all are dropped. A response
    without a body tells nothing, and stays.
    """
    may_hold = IdempotencyRecord.objects.for_owner(owner_id).filter(namespace__in=(OWN_NAMESPACE, namespace))
    may_hold.filter(body__isnull=False).exclude(body="").update(body=None)


def _is_ignored(request: HttpRequest) -> bool:
    """Return whether the request is for a view with ``ignores_idempotency_key``."""
    try:
        view = resolve(request.path_info).func
    except Resolver404:
        return False
    return getattr(getattr(view, "cls", None), "ignores_idempotency_key", False)


def _key_in(namespace: str, key: str) -> str:
    """Return what a key is stored as: each end user of an application chooses keys of their own.

    Since no header has a line break, none is the same as a key of the account itself.
    """
    return "\n" + hashlib.sha256(f"{namespace}\n{key}".encode()).hexdigest() if namespace else key


def _lock_key(owner_id: UUID, key: str) -> None:
    """Lock the key until the transaction ends. A concurrent request with the same key waits."""
    # Of the first request there is no row yet that could be locked.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{owner_id}:{key}"])


def _fingerprint(request: HttpRequest) -> str:
    """Return the SHA-256 of method, path and body in hexadecimal.

    The boundary of a multipart body is left out: a client may choose another one for each request.
    """
    digest = hashlib.sha256(f"{request.method} {request.get_full_path()} {request.content_type}\n".encode())
    boundary = b"--" + (request.content_params or {}).get("boundary", "").encode() if is_multipart(request) else None
    body = rewindable_body(request)
    at_line_start = True
    while line := body.readline(CHUNK_BYTES):
        at_boundary = at_line_start and boundary is not None and line.startswith(boundary)
        digest.update(b"--" if at_boundary else line)
        at_line_start = line.endswith(b"\n")
    body.seek(0)
    return digest.hexdigest()


def _replay(record: IdempotencyRecord, fingerprint: str) -> HttpResponse:
    """Return the stored response, which is JSON or empty.

    Raise KeyReused if it belongs to another request, or its body is dropped.
    """
    if record.fingerprint != fingerprint:
        raise KeyReused("It was another request. Use a new key for a new request.")
    if record.body is None:
        raise KeyReused("It was this request. Its response is not kept any more.")
    headers = {"Idempotent-Replayed": "true"}
    return HttpResponse(record.body, status=record.status, headers=headers, content_type="application/json")
