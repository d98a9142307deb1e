"""Middleware that shortens the replies to writes for clients that ask for it."""

from typing import Any

from django.http import HttpRequest
from rest_framework.permissions import SAFE_METHODS

from apps.common.http.middleware import Middleware
from apps.common.http.request_bodies import API_PREFIX

PREFERENCE = "return=minimal"
NAMES = ("integrity", "rev", "id")
# Members of replies that hold things, or their ids, and nothing of a user's own documents.
THINGS = ("appended", "messages", "deleted", "scene", "chats", "run", "generation")


class MinimalReplyMiddleware(Middleware):
    """Reply to a write with ``Prefer: return=minimal`` (RFC 7240) by integrity, rev and ids alone.

    What names nothing that was stored, such as a search, is answered as usual.
    """

    def process_template_response(self, request: HttpRequest, response: Any) -> Any:
        """Shorten the data of a response of REST framework before it is rendered."""
        if not request.path.startswith(API_PREFIX) or request.method in SAFE_METHODS or not prefers_minimal(request):
            return response
        shortened = minimal(getattr(response, "data", None))
        if 200 <= response.status_code < 300 and shortened:
            response.data = shortened
            response["Preference-Applied"] = PREFERENCE
        return response


def prefers_minimal(request: HttpRequest) -> bool:
    """Return whether one of the preferences of the request is ``return=minimal``."""
    preferences = request.headers.get("Prefer", "").lower().split(",")
    return PREFERENCE in (preference.partition(";")[0].replace(" ", "").replace('"', "") for preference in preferences)


def minimal(document: Any) -> dict[str, Any]:
    """Return integrity, rev and id of a document, and those of the things in it; empty if it has none."""
    if not isinstance(document, dict):
        return {}
    names = {key: document[key] for key in NAMES if key in document}
    return names | {key: things for key in THINGS if (things := _things(document.get(key))) is not None}


def _things(value: Any) -> Any:
    """Return the names of a thing or of a list of things or ids, or None for anything else."""
    if isinstance(value, list):
        return [item if isinstance(item, str) else minimal(item) for item in value]
    return minimal(value) or None if isinstance(value, dict) else None
