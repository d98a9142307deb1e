"""Template tag for the place of a page: which link of the navigation leads to it. Every template has it."""

from django import template
from django.http import HttpRequest

register = template.Library()

PLACES = {
    "chats": "chats",
    "imports": "chats",
    "characters": "characters",
    "memories": "memories",
    "journal": "journal",
    "settings": "settings",
    "personas": "settings",
    "accounts": "settings",
}
OF_NO_PLACE = ("/memories/search/",)


@register.simple_tag
def current_place(request: HttpRequest) -> str:
    """Return the place that the page of a request belongs to, by the first part of its path; else an empty string."""
    if request.path_info.startswith(OF_NO_PLACE):
        return ""
    first = request.path_info.split("/")[1]
    return PLACES.get(first, "") if first else "chats"
