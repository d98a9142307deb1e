"""The navigation marks the place that a page belongs to, whichever app serves it."""

import pytest
from django.test import RequestFactory

from apps.common.templatetags.places import current_place


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/", "chats"),
        ("/chats/new/", "chats"),
        ("/chats/01a21f02-9594-75d8-9b9a-c3fa76254607/prompt/", "chats"),
        ("/imports/", "chats"),
        ("/characters/", "characters"),
        ("/memories/chats/01a21f02-9594-75d8-9b9a-c3fa76254607/book/graph/", "memories"),
        ("/memories/search/", ""),
        ("/journal/", "journal"),
        ("/settings/models/", "settings"),
        ("/personas/", "settings"),
        ("/accounts/2fa/", "settings"),
        ("/oauth/authorize", ""),
    ],
)
def test_a_page_belongs_to_the_place_that_its_path_begins_with(rf: RequestFactory, path: str, place: str) -> None:
    assert current_place(rf.get(path)) == place
