"""Clients in a browser, on pages of other origins."""

from typing import Any

import pytest
from django.test import AsyncClient, Client

from apps.accounts.operations import create_token
from tests.coroutines import in_thread
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

ALLOWED, OTHER = "https://chat.example.org", "https://chat.example.com"
PATHS = ["/v1/chat/completions", "/v1/models", "/api/v1/chats/"]


@pytest.fixture(autouse=True)
def origins(settings: Any) -> None:
    settings.CORS_ALLOWED_ORIGINS = [ALLOWED]


def asked_before(path: str, origin: str, **headers: str) -> Any:
    """Return the answer to a preflight request, as a browser sends it for an SDK."""
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,x-loci-chat,x-stainless-os",
    }
    return Client().options(path, headers=asked | headers)


@pytest.mark.parametrize("path", PATHS)
def test_a_page_of_a_named_origin_may_call(path: str) -> None:
    response = asked_before(path, ALLOWED)
    assert response.status_code == 200
    assert response["Access-Control-Allow-Origin"] == ALLOWED
    assert response["Access-Control-Allow-Headers"] == "*, authorization"
    assert {"GET", "POST", "PATCH", "PUT", "DELETE"} <= set(response["Access-Control-Allow-Methods"].split(", "))
    assert "Access-Control-Allow-Private-Network" not in response
    assert "Access-Control-Allow-Credentials" not in response


@pytest.mark.parametrize("path", PATHS)
def test_a_public_page_may_call_into_the_private_network(path: str) -> None:
    response = asked_before(path, ALLOWED, **{"Access-Control-Request-Private-Network": "true"})
    assert response["Access-Control-Allow-Private-Network"] == "true"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", [OTHER, "http://chat.example.org", "https://chat.example.org.evil.example", "null"])
def test_a_page_of_another_origin_may_not(path: str, origin: str) -> None:
    response = asked_before(path, origin, **{"Access-Control-Request-Private-Network": "true"})
    assert not [name for name in response.headers if name.lower().startswith("access-control-")]


def test_answers_and_errors_can_be_read_and_name_their_headers() -> None:
    token = create_token(UserFactory(), name="Page")[1]
    with_token = {"Origin": ALLOWED, "Authorization": f"Bearer {token}"}
    for response in (
        Client().get("/api/v1/chats/", headers=with_token),
        Client().get("/api/v1/chats/", headers={"Origin": ALLOWED}),
        in_thread(lambda: AsyncClient().get("/v1/models", headers={"Origin": ALLOWED})),
    ):
        assert response["Access-Control-Allow-Origin"] == ALLOWED
        assert response["Access-Control-Expose-Headers"] == "*"
        assert "origin" in response["Vary"].lower()


def test_pages_of_loci_are_for_no_other_origin() -> None:
    for path in ("/", "/accounts/login/", "/settings/tokens/"):
        response = Client().get(path, headers={"Origin": ALLOWED})
        assert "Access-Control-Allow-Origin" not in response
