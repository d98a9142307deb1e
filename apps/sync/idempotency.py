"""A write that is sent again gets the reply that it got before."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common.problems import Invalid, Problem
from apps.sync.models import IdempotencyRecord

HEADER = "Idempotency-Key"
MAX_KEY = 255


class KeyReused(Problem):
    status = 422
    type = "/problems/idempotency-key-reused"
    title = "This Idempotency-Key was used for another request"


def reply_once(request: Request, write: Callable[[], Response]) -> Response:
    """The reply of ``write()``, or the stored one where the request's Idempotency-Key was answered before.

    The reply is stored in the transaction of the write. What raises is not stored: a retry is tried anew.
    Raises KeyReused where the key came with another request.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return write()
    if not 0 < len(key) <= MAX_KEY:
        raise Invalid(f"The header {HEADER} must have 1 to {MAX_KEY} characters.")
    with transaction.atomic():
        _lock_key(request.user.pk, key)
        record = IdempotencyRecord.objects.for_owner(request.user).filter(key=key).first()
        if record is not None:
            return _replay(record, _fingerprint(request))
        reply = write()
        IdempotencyRecord.objects.create(
            owner_id=request.user.pk,
            key=key,
            fingerprint=_fingerprint(request),
            status=reply.status_code,
            body=json.dumps(reply.data, ensure_ascii=False),
        )
        return reply


def _lock_key(owner_id: Any, key: str) -> None:
    """Two requests with the same key at the same time: the second waits for the first."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{owner_id}:{key}"])


def _fingerprint(request: Request) -> str:
    document = json.dumps(request.data, ensure_ascii=False, sort_keys=True)
    text = f"{request.method} {request.get_full_path()}\n{document}"
    return hashlib.sha256(text.encode()).hexdigest()


def _replay(record: IdempotencyRecord, fingerprint: str) -> Response:
    if record.fingerprint != fingerprint:
        raise KeyReused("Use a new key for a new request.")
    return Response(json.loads(record.body), status=record.status, headers={"Idempotent-Replayed": "true"})
