"""The texts of scripts in another language than English, as a script that pages load before their own."""

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_cache_control
from django.views.i18n import JavaScriptCatalog

SECONDS_CACHED = 3600


class Catalogue(JavaScriptCatalog):
    """The catalogue of the language that the address names with ``of``, so that browsers can keep it."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the script."""
        language = request.GET.get("of", "")
        if language not in dict(settings.LANGUAGES):
            raise Http404
        with translation.override(language):
            response: HttpResponse = super().get(request, *args, **kwargs)
        patch_cache_control(response, private=True, max_age=SECONDS_CACHED)
        return response
