"""Bodies that are too large, and turns of images."""

import json
from typing import Any

import pytest
from django.test import AsyncClient

from apps.accounts.operations import create_token
from apps.proxy.conversation import turns_of
from tests.coroutines import in_thread
from tests.factories import UserFactory


@pytest.mark.django_db
@pytest.mark.django_db(transaction=True)
def test_a_body_above_the_limit_is_a_413_in_openais_form(settings: Any) -> None:
    settings.REQUEST_MAX_BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    body = json.dumps({"messages": [{"role": "user", "content": "x" * 1000}]})
    token = create_token(UserFactory(), name="SDK")[1]
    headers = {"Authorization": f"Bearer {token}"}
    request = {"data": body, "content_type": "application/json", "headers": headers}
    response = in_thread(lambda: AsyncClient().post("/v1/chat/completions", **request))
    assert response.status_code == 413
    assert response.json()["error"]["type"] == "invalid_request_error"


def test_a_turn_of_images_alone_has_a_placeholder() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    messages = [
        {"role": "user", "content": "Look!"},
        {"role": "assistant", "content": "At what?"},
        {"role": "user", "content": [image]},
        {"role": "assistant", "content": ""},
    ]
    assert [(turn.is_user, turn.text) for turn in turns_of(messages)] == [
        (True, "Look!"),
        (False, "At what?"),
        (True, "[image]"),
    ]
