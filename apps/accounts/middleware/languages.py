"""Middleware that sets the language: a user's choice, else what the browser asks for. The API is always in English."""

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers

from apps.accounts.languages import CHOICES
from apps.common.http.middleware import Middleware


class LanguageMiddleware(Middleware):
    """Render pages in the language of the reader. Programs read the API, so that its texts are in one language."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_page = not request.path_info.startswith(tuple(settings.ERROR_FORMS))
        language = language_of_reader(request) if is_page else settings.LANGUAGE_CODE
        with translation.override(language):
            response = self.get_response(request)
        if is_page and response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Content-Language", language)
            patch_vary_headers(response, ("Accept-Language",))
        return response


def language_of_reader(request: HttpRequest) -> str:
    """Return the language that the signed-in user has chosen, else the best of those that the browser accepts."""
    # Who has no session needs none to be looked at: a response that depends on it varies by cookies.
    user = request.user if settings.SESSION_COOKIE_NAME in request.COOKIES else None
    chosen = user.language if user is not None and user.is_authenticated else ""
    return chosen if chosen in CHOICES else translation.get_language_from_request(request)
