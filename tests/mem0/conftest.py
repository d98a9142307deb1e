"""Alice, who owns an application with users of its own, and Charlie, a stranger; each through mem0's client."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import create_token


class SdkRequests:
    """The very requests that the client of PyPI's ``mem0ai`` sends, and what it makes of their replies."""

    def __init__(self, user: User) -> None:
        self.user = user
        _, secret = create_token(user, name="mem0")
        self.http = APIClient()
        self.http.credentials(HTTP_AUTHORIZATION=f"Token {secret}", HTTP_MEM0_USER_ID="hash")

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        response = getattr(self.http, method)(f"/mem0{path}", body, format="json")
        assert response.status_code == 200, response.content
        return response.json()

    def refused(self, method: str, path: str, body: Any = None) -> Any:
        response = getattr(self.http, method)(f"/mem0{path}", body, format="json")
        assert 400 <= response.status_code < 500, response.content
        assert response["Content-Type"].startswith("application/json")
        return response.json()

    def add(self, messages: Any, **options: Any) -> Any:
        messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        return self.ok("post", "/v3/memories/add/", {"messages": messages, **options})

    def store(self, text: str, **options: Any) -> str:
        added: str = self.add(text, infer=False, **options)["results"][0]["id"]
        return added

    def search(self, query: str, **options: Any) -> list[str]:
        found = self.ok("post", "/v3/memories/search/", {"query": query, **options})
        return [one["memory"] for one in found["results"]]

    def get_all(self, filters: Any, query: str = "", **options: Any) -> list[str]:
        found = self.ok("post", f"/v3/memories/{query}", {"filters": filters, **options})
        return sorted(one["memory"] for one in found["results"])


@pytest.fixture
def sdk(db: None) -> Callable[[str], SdkRequests]:
    return lambda name: SdkRequests(User.objects.create_user(f"{name}@example.com"))


@pytest.fixture
def alice(sdk: Callable[[str], SdkRequests]) -> SdkRequests:
    return sdk("alice")
