"""Ask an endpoint with OpenAI's moderation API about texts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from django.conf import settings

from apps.llm.generation import Misconfigured, TransientFailure, Watch
from apps.llm.http.addresses import AddressNotAllowed, address_policy
from apps.llm.http.endpoint import CallPolicy

NAME = "moderation endpoint"  # as the source of a flag
TIMEOUT = 20.0  # seconds
MAX_TEXTS = 16  # in one request
MAX_CHARACTERS = 20_000  # of a text
MAX_REPLY_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Verdict:
    """What the endpoint says of one text."""

    flagged: bool
    categories: list[str]


def is_configured() -> bool:
    """Return whether this installation has an endpoint."""
    return bool(settings.MODERATION_URL)


def ask(texts: Sequence[str], watch: Watch) -> list[Verdict]:
    """Return a verdict on each of at most MAX_TEXTS texts. Raise GenerationFailed, and what ``watch`` raises."""
    policy = address_policy()
    url = f"{settings.MODERATION_URL.rstrip('/')}/moderations"
    try:
        policy.checked_url(url)
    except AddressNotAllowed as error:
        raise Misconfigured(str(error)) from error
    body = {"model": settings.MODERATION_MODEL, "input": [text[:MAX_CHARACTERS] for text in texts]}

    def request(client: httpx2.Client) -> list[Verdict]:
        received = bytearray()
        with client.stream("POST", url, json=body) as response:
            for chunk in response.iter_bytes():
                received += chunk
                if len(received) > MAX_REPLY_BYTES:
                    raise TransientFailure("The reply of the moderation endpoint is too large.")
        return _verdicts(bytes(received), len(texts))

    return CallPolicy(TIMEOUT, policy, settings.MODERATION_KEY, max_seconds=60.0).call(request, watch)


def _verdicts(received: bytes, count: int) -> list[Verdict]:
    """Parse a reply. Raise TransientFailure if it isn't one."""
    try:
        results: list[Any] = json.loads(received)["results"]
        if len(results) != count:
            raise ValueError
        return [
            Verdict(
                result["flagged"] is True,
                sorted(str(name)[:100] for name, on in dict(result.get("categories") or {}).items() if on is True),
            )
            for result in results
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TransientFailure("The moderation endpoint sent no list of results.") from error
