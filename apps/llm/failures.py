"""Tell from the status of a model server's error, and the codes in it, what kind of failure it is."""

from collections.abc import Set

from django.utils.translation import gettext_noop

from apps.common.stored_texts import gettext_stored
from apps.llm.generation import GenerationFailed, Misconfigured, Refused, TransientFailure

# Codes of errors whose HTTP status is ambiguous: OpenAI's, and those of Gemini and OpenRouter where they differ.
NO_CREDIT_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
CONNECTION_CODES = {"invalid_api_key", "API_KEY_INVALID", "model_not_found"}
FILTER_CODES = {"content_filter", "content_policy_violation", "flagged_input"}


def http_failure(status: int, message: str, codes: Set[str] = frozenset()) -> GenerationFailed:
    """Return the failure for an HTTP error status and the codes in its body, worded for the connection's owner."""
    failure_class, sentence = _class_and_sentence(status, codes)
    quoted = gettext_stored(" It says: %(message)s", message=message) if message else ""
    failure = failure_class(gettext_stored(sentence, status=status, quoted=quoted))
    failure.server_status = status
    if isinstance(failure, Misconfigured):
        failure.wrong_address = status in (404, 405)
    return failure


def _class_and_sentence(status: int, codes: Set[str]) -> tuple[type[GenerationFailed], str]:
    """Return the class of a failure and its message. The error code is preferred to the HTTP status."""
    if codes & FILTER_CODES:
        return Refused, gettext_noop("The server's content filter refuses the request (%(status)s).%(quoted)s")
    if codes & CONNECTION_CODES:
        return Misconfigured, gettext_noop("The server refuses the key or the model (%(status)s).%(quoted)s")
    if status in (401, 403):
        return Misconfigured, gettext_noop(
            "The server refuses the key, or the key lacks a permission (%(status)s).%(quoted)s"
        )
    if status in (404, 405, 501):  # llama.cpp replies 501 to requests for vectors unless started for them
        return Misconfigured, gettext_noop("The server knows no such address or model (%(status)s).%(quoted)s")
    if status == 402 or codes & NO_CREDIT_CODES:
        return Misconfigured, gettext_noop("The account at the server has no credit left (%(status)s).%(quoted)s")
    if status == 429:  # after the codes: OpenAI sends 429 for an account without credit too, which no wait mends
        return TransientFailure, gettext_noop("The server is overloaded, or limits the rate of calls (429).%(quoted)s")
    if status >= 500 or status in (408, 409, 425):
        return TransientFailure, gettext_noop("The server failed (%(status)s).%(quoted)s")
    if 300 <= status < 400:
        return Misconfigured, gettext_noop(
            "The server redirects elsewhere (%(status)s). Enter the address that it redirects to."
        )
    return Refused, gettext_noop("The server refuses the request (%(status)s).%(quoted)s")
