"""The web app manifest, by which browsers install Loci as an app."""

from django.http import HttpRequest, JsonResponse
from django.templatetags.static import static
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

PAPER = "#faf7f2"  # the background of pages in light colours
ICONS = (
    ("icons/icon-192.png", "192x192", "any"),
    ("icons/icon-512.png", "512x512", "any"),
    ("icons/maskable-512.png", "512x512", "maskable"),
)


@require_safe
@cache_control(max_age=86_400, public=True)
def manifest(request: HttpRequest) -> JsonResponse:
    """Return the manifest."""
    content = {
        "name": "Loci",
        "short_name": "Loci",
        "description": "A memory for long conversations with language models.",
        "id": "/",
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": PAPER,
        "theme_color": PAPER,
        "icons": [
            {"src": static(path), "sizes": sizes, "type": "image/png", "purpose": purpose}
            for path, sizes, purpose in ICONS
        ],
    }
    return JsonResponse(content, content_type="application/manifest+json")
