"""Replay stored replies to repeated writes, by their Idempotency-Key, on every route of the API."""

import copy
import datetime as dt
import hashlib
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import APIException
from rest_framework.parsers import BaseParser
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.settings import api_settings

from apps.common.problem_replies import problem_reply
from apps.common.problems import Invalid, Problem, ProblemType
from apps.common.request_bodies import API, CHUNK_BYTES, is_multipart, rewindable_body
from apps.common.scoping import system_scope
from apps.sync.models import IdempotencyRecord

HEADER = "Idempotency-Key"
MAX_KEY = 255  # characters


class KeyReused(Problem):
    """The Idempotency-Key belongs to a different request."""

    status = 422
    type = ProblemType.IDEMPOTENCY_KEY_REUSED
    title = "This Idempotency-Key was used for another request"


class IdempotencyMiddleware:
    """Store the reply to a write with an Idempotency-Key in the write's transaction, and replay it for repetitions.

    An error reply rolls the transaction back and is not stored, so that a retry is executed again.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = request.headers.get(HEADER)
        if key is None or request.method in SAFE_METHODS or not request.path.startswith(API):
            return self.get_response(request)
        owner_id = _owner_id(request)
        if owner_id is None:
            return self.get_response(request)  # replies 401
        try:
            return self._reply_once(request, owner_id, key)
        except Problem as problem:
            return problem_reply(problem)

    def _reply_once(self, request: HttpRequest, owner_id: UUID, key: str) -> HttpResponse:
        """Return the stored reply, or that of the view. Raise Invalid, KeyReused."""
        if not 0 < len(key) <= MAX_KEY:
            raise Invalid(f"The header {HEADER} must have 1 to {MAX_KEY} characters.")
        fingerprint = _fingerprint(request)
        with transaction.atomic():
            _lock_key(owner_id, key)
            record = IdempotencyRecord.objects.for_owner(owner_id).filter(key=key).first()
            if record is not None:
                return _replay(record, fingerprint)
            reply = self.get_response(request)
            if 200 <= reply.status_code < 300:
                IdempotencyRecord.objects.create(
                    owner_id=owner_id,
                    key=key,
                    fingerprint=fingerprint,
                    status=reply.status_code,
                    body=reply.content.decode(),
                )
            else:
                transaction.set_rollback(True)
            return reply


def delete_old_replies(now: dt.datetime) -> int:
    """Delete the replies older than IDEMPOTENCY_HOURS. Return how many were deleted."""
    with system_scope():
        old = IdempotencyRecord.objects.filter(created_at__lt=now - dt.timedelta(hours=settings.IDEMPOTENCY_HOURS))
        return old.delete()[0]


def _owner_id(request: HttpRequest) -> Any:
    """Return the id of the user whom the API's authenticators find, or None."""
    classes: Any = api_settings.DEFAULT_AUTHENTICATION_CLASSES
    authenticators = [authenticator() for authenticator in classes]
    # A copy, so that the view receives an unchanged request.
    probe = Request(copy.copy(request), parsers=[NoParser()], authenticators=authenticators)
    try:
        return probe.user.pk
    except APIException:
        return None


class NoParser(BaseParser):
    """Return no data. The CSRF check of session authentication must not read the body before the view does.

    It finds the CSRF token in the header only.
    """

    media_type = "*/*"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> dict[str, Any]:
        return {}


def _lock_key(owner_id: UUID, key: str) -> None:
    """Lock the key until the transaction ends. A concurrent request with the same key waits."""
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
    while part := body.readline(CHUNK_BYTES):
        at_boundary = at_line_start and boundary is not None and part.startswith(boundary)
        digest.update(b"--" if at_boundary else part)
        at_line_start = part.endswith(b"\n")
    body.seek(0)
    return digest.hexdigest()


def _replay(record: IdempotencyRecord, fingerprint: str) -> HttpResponse:
    """Return the stored reply, which is JSON or empty. Raise KeyReused if it is for another request."""
    if record.fingerprint != fingerprint:
        raise KeyReused("Use a new key for a new request.")
    headers = {"Idempotent-Replayed": "true"}
    return HttpResponse(record.body, status=record.status, headers=headers, content_type="application/json")
