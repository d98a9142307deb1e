"""A program gets at the memory only by its user's consent, for as long as they want, and by nobody else's code."""

import base64
import datetime as dt
import hashlib
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
import time_machine
from django.conf import settings as django_settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from apps.accounts.authentication import find_token
from apps.accounts.models import ApiToken, User
from apps.accounts.operations import close_account, revoke_token
from apps.mcp.models import OAuthClient, OAuthGrant
from apps.mcp.tasks import sweep_oauth
from tests.conftest import WebServer
from tests.coroutines import in_thread
from tests.factories import UserFactory
from tests.mcp.conftest import connected

CALLBACK = "http://127.0.0.1:33418/callback"
VERIFIER = "a-verifier-of-at-least-forty-three-characters-0123456789"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


class Storage:
    """Where the official client keeps its tokens."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


class Browser:
    """A signed-in user, who allows what the page asks for."""

    def __init__(self, user: User) -> None:
        client = Client()
        client.force_login(user)
        name = django_settings.SESSION_COOKIE_NAME
        self.cookies = {name: client.cookies[name].value}
        self.page = ""
        self.location = ""

    async def open(self, url: str) -> None:
        async with httpx.AsyncClient(cookies=self.cookies, trust_env=False, timeout=60) as http:
            page = await http.get(url)
            self.page = page.text
            found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
            assert found, page.text
            form = {"csrfmiddlewaretoken": found[1], "answer": "allow", "scope": "write"}
            reply = await http.post(url, data=form, headers={"Referer": url})
            self.location = reply.headers["Location"]

    async def answer(self) -> AuthorizationCodeResult:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.location).query).items()}
        return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))


def test_the_whole_dance_of_the_official_client(web_server: WebServer, alice: User) -> None:
    """It discovers, registers, asks, exchanges; renews its token when that has expired; and is out once revoked."""
    browser, storage = Browser(alice), Storage()
    metadata = OAuthClientMetadata(client_name="Test program", redirect_uris=[CALLBACK])
    provider = OAuthClientProvider(f"{web_server.url}/mcp", metadata, storage, browser.open, browser.answer)

    async def add() -> Any:
        async with connected(web_server.url, auth=provider) as client:
            return await client.call_tool("memory_add", {"text": "Alice likes tea."})

    assert not in_thread(add).is_error
    assert "Test program" in browser.page
    assert "127.0.0.1" in browser.page
    first = storage.tokens
    assert first.scope == "read write"
    token = ApiToken.objects.for_owner(alice).get()
    assert (token.name, token.scope) == ("Test program", "write")

    ApiToken.objects.for_owner(alice).update(expires_at=timezone.now())
    provider.context.token_expiry_time = 1.0
    assert not in_thread(add).is_error
    assert storage.tokens.access_token != first.access_token
    assert ApiToken.objects.for_owner(alice).get().pk == token.pk
    assert OAuthClient.objects.count() == 1

    revoke_token(ApiToken.objects.for_owner(alice).get())
    browser.page = ""
    assert not in_thread(add).is_error  # it has asked again
    assert "Test program" in browser.page


# Without a server


@pytest.fixture
def user(db: None) -> User:
    return UserFactory()


@pytest.fixture
def visitor(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def program(db: None) -> OAuthClient:
    return OAuthClient.objects.create(name="Test program", redirect_uris=[CALLBACK])


def asked(program: OAuthClient, **changes: Any) -> str:
    query = {
        "response_type": "code",
        "client_id": str(program.pk),
        "redirect_uri": CALLBACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": "here & there",
        "scope": "read write",
        "resource": "http://testserver/mcp",
    }
    given = {name: value for name, value in {**query, **changes}.items() if value is not None}
    return f"{reverse('oauth:authorize')}?{urlencode(given)}"


def answer_to(visitor: Client, program: OAuthClient, answer: str = "allow", **changes: Any) -> dict[str, str]:
    """Answer on the page of consent, and return what the program is sent."""
    scope = changes.pop("chosen", "write")
    reply = visitor.post(asked(program, **changes), {"answer": answer, "scope": scope})
    assert reply.status_code == 302
    assert reply["Location"].startswith(f"{CALLBACK}?")
    return {name: values[0] for name, values in parse_qs(urlsplit(reply["Location"]).query).items()}


def exchanged(program: OAuthClient, code: str, **changes: Any) -> Any:
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": VERIFIER}
    given = {**fields, "client_id": str(program.pk), **changes}
    body = urlencode({name: value for name, value in given.items() if value is not None})
    return Client().post(reverse("oauth:token"), body, content_type="application/x-www-form-urlencoded")


def refreshed(program: OAuthClient, refresh_token: str, **changes: Any) -> Any:
    fields = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": str(program.pk), **changes}
    return Client().post(reverse("oauth:token"), urlencode(fields), content_type="application/x-www-form-urlencoded")


def is_good(secret: str) -> bool:
    return find_token(secret, timezone.now()) is not None


def test_metadata_leads_from_the_server_to_its_endpoints(db: None) -> None:
    resource = Client().get("/.well-known/oauth-protected-resource/mcp").json()
    assert resource["resource"] == "http://testserver/mcp"
    assert resource["authorization_servers"] == ["http://testserver"]
    server = Client().get("/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == "http://testserver"
    assert server["token_endpoint"] == "http://testserver/oauth/token"
    assert server["code_challenge_methods_supported"] == ["S256"]


@pytest.mark.parametrize(
    ("uri", "is_fine"),
    [
        ("https://claude.ai/api/mcp/auth_callback", True),
        ("http://localhost:6274/oauth/callback", True),
        ("http://[::1]:6274/callback", True),
        ("cursor://anysphere.cursor-retrieval/oauth/callback", True),
        ("http://example.com/callback", False),
        ("https://user@example.com/", False),
        ("https://example.com/#part", False),
        ("https://*.example.com/", False),
        ("https:///callback", False),
        ("https://example.com:port/", False),
        ("https://example.com\\@evil.example/", False),
        ("javascript:alert(1)", False),
        ("JavaScript:alert(1)", False),
        ("data:text/html,x", False),
        ("/callback", False),
        ("", False),
        (7, False),
        ("https://example.com/ü", False),
        ("https://example.com/" + "x" * 3000, False),
    ],
)
def test_registered_addresses_are_those_of_programs(db: None, uri: Any, is_fine: bool) -> None:
    reply = Client().post("/oauth/register", {"redirect_uris": [uri]}, content_type="application/json")
    assert reply.status_code == (201 if is_fine else 400), reply.content
    if is_fine:
        assert reply.json()["redirect_uris"] == [uri]
        assert reply.json()["token_endpoint_auth_method"] == "none"
    else:
        assert reply.json()["error"] == "invalid_redirect_uri"


def test_registrations_that_are_none(db: None, settings: Any) -> None:
    for body in (b"", b"[]", b"{", b"\xff", b'{"redirect_uris": []}', b'{"redirect_uris": "x"}', b"[" * 70_000):
        reply = Client().post("/oauth/register", body, content_type="application/json")
        assert reply.status_code == 400, body[:20]
        assert set(reply.json()) == {"error", "error_description"}
    settings.REGISTRATION_RATE = "1/h"
    body, form = {"redirect_uris": [CALLBACK]}, {"content_type": "application/json", "REMOTE_ADDR": "10.0.0.9"}
    statuses = [Client().post("/oauth/register", body, **form).status_code for _ in range(2)]
    assert statuses == [201, 429]


def test_a_consent_is_one_token_that_is_listed_and_revoked(visitor: Client, user: User, program: OAuthClient) -> None:
    assert "Test program" in visitor.get(asked(program)).content.decode()
    answer = answer_to(visitor, program)
    assert (answer["state"], answer["iss"]) == ("here & there", "http://testserver")
    reply = exchanged(program, answer["code"])
    assert reply.status_code == 200, reply.content
    assert reply["Cache-Control"] == "no-store"
    tokens = reply.json()
    assert tokens["token_type"] == "Bearer"
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert Client().get("/api/v1/memories/", headers=headers).status_code == 200

    listed = visitor.get(reverse("settings:tokens")).content.decode()
    assert "Test program" in listed
    token = ApiToken.objects.for_owner(user).get()
    visitor.post(reverse("settings:revoke-token", args=[token.pk]))
    assert Client().get("/api/v1/memories/", headers=headers).status_code == 401
    assert refreshed(program, tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_the_users_choice_is_what_is_allowed(visitor: Client, user: User, program: OAuthClient) -> None:
    assert exchanged(program, answer_to(visitor, program, chosen="read")["code"]).json()["scope"] == "read"
    # Nobody gets more by the form than the program has asked for.
    assert exchanged(program, answer_to(visitor, program, scope="read")["code"]).json()["scope"] == "read"
    assert set(ApiToken.objects.for_owner(user).values_list("scope", flat=True)) == {"read"}
    refusal = answer_to(visitor, program, answer="deny")
    assert (refusal["error"], refusal["state"]) == ("access_denied", "here & there")
    assert "code" not in refusal
    assert "login" in Client().get(asked(program))["Location"]


@pytest.mark.parametrize(
    "changes",
    [
        {"redirect_uri": CALLBACK + "/"},
        {"redirect_uri": CALLBACK + "?x=1"},
        {"redirect_uri": CALLBACK.replace("127.0.0.1", "localhost")},
        {"redirect_uri": CALLBACK.replace("33418", "33419")},
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": "//evil.example/callback"},
        {"redirect_uri": None},
        {"client_id": "00000000-0000-0000-0000-000000000000"},
        {"client_id": "x"},
        {"client_id": None},
    ],
)
def test_nothing_is_sent_to_an_address_that_is_not_exactly_the_registered_one(
    visitor: Client, program: OAuthClient, changes: dict[str, Any]
) -> None:
    for reply in (visitor.get(asked(program, **changes)), visitor.post(asked(program, **changes), {"answer": "allow"})):
        assert reply.status_code == 400
        assert "Location" not in reply
    assert visitor.get(asked(program) + "&redirect_uri=https://evil.example/").status_code == 400
    with pytest.raises(OAuthGrant.DoesNotExist):
        OAuthGrant._base_manager.get()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"scope": "read admin"}, "invalid_scope"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code token"}, "unauthorized_client"),
        ({"response_type": "none"}, "unauthorized_client"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
    ],
)
def test_what_is_asked_wrongly_is_told_to_the_program(
    visitor: Client, program: OAuthClient, changes: dict[str, Any], error: str
) -> None:
    assert answer_to(visitor, program, **changes)["error"] == error


def test_a_link_to_the_page_leads_nowhere_before_the_user_has_answered(visitor: Client) -> None:
    stranger = OAuthClient.objects.create(name="Stranger", redirect_uris=["https://evil.example/?a=1&b=2"])
    for changes in ({"response_type": "token"}, {"scope": "admin"}, {"code_challenge": None}, {"prompt": "none"}, {}):
        reply = visitor.get(asked(stranger, redirect_uri="https://evil.example/?a=1&b=2", **changes))
        assert "Location" not in reply, changes
        assert "evil.example" in reply.content.decode()


def test_a_code_is_good_for_one_exchange_by_who_asked_for_it(visitor: Client, user: User, program: OAuthClient) -> None:
    other = OAuthClient.objects.create(name="Other", redirect_uris=[CALLBACK])
    for changes in (
        {"code_verifier": "x" * 43},
        {"code_verifier": None},
        {"redirect_uri": CALLBACK + "/"},
        {"redirect_uri": None},
        {"client_id": str(other.pk)},
        {"client_id": None},
        {"grant_type": "password"},
    ):
        reply = exchanged(program, answer_to(visitor, program)["code"], **changes)
        assert 400 <= reply.status_code < 402, changes
    assert exchanged(program, "x").json()["error"] == "invalid_grant"
    assert exchanged(program, "").json()["error"] == "invalid_grant"
    assert not ApiToken.objects.for_owner(user).exists()

    with time_machine.travel(timezone.now(), tick=False) as clock:
        code = answer_to(visitor, program)["code"]
        clock.shift(121)
        assert exchanged(program, code).json()["error"] == "invalid_grant"

    code, of_a_second_tab = answer_to(visitor, program)["code"], answer_to(visitor, program)["code"]
    tokens = exchanged(program, code).json()
    assert exchanged(program, of_a_second_tab).status_code == 200
    assert is_good(tokens["access_token"])
    assert exchanged(program, code).json()["error"] == "invalid_grant"
    assert not is_good(tokens["access_token"])  # somebody else has had the code: nobody keeps what it gave
    assert refreshed(program, tokens["refresh_token"]).status_code == 400


def test_a_refresh_token_is_good_for_one_renewal(visitor: Client, user: User, program: OAuthClient) -> None:
    first = exchanged(program, answer_to(visitor, program)["code"]).json()
    other = OAuthClient.objects.create(name="Other", redirect_uris=[CALLBACK])
    assert refreshed(other, first["refresh_token"]).json()["error"] == "invalid_grant"
    assert refreshed(program, first["refresh_token"], scope="read write admin").json()["error"] == "invalid_scope"
    second = refreshed(program, first["refresh_token"]).json()
    assert not is_good(first["access_token"])
    assert is_good(second["access_token"])
    assert refreshed(program, first["refresh_token"]).json()["error"] == "invalid_grant"
    assert not is_good(second["access_token"])
    assert refreshed(program, second["refresh_token"]).json()["error"] == "invalid_grant"

    third = exchanged(program, answer_to(visitor, program)["code"]).json()
    close_account(user)
    assert refreshed(program, third["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_program_signs_itself_out(visitor: Client, user: User, program: OAuthClient) -> None:
    for kind in ("access_token", "refresh_token"):
        tokens = exchanged(program, answer_to(visitor, program)["code"]).json()
        body = urlencode({"token": tokens[kind], "client_id": str(program.pk)})
        form = {"content_type": "application/x-www-form-urlencoded"}
        assert Client().post(reverse("oauth:revoke"), body, **form).status_code == 200
        assert not is_good(tokens["access_token"])
        assert refreshed(program, tokens["refresh_token"]).status_code == 400
        assert Client().post(reverse("oauth:revoke"), body, **form).status_code == 200


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"grant_type=%zz", b"x" * 1_000_000, b"{}"])
def test_forms_that_are_none(db: None, body: bytes) -> None:
    for name in ("token", "revoke"):
        reply = Client().post(reverse(f"oauth:{name}"), body, content_type="application/x-www-form-urlencoded")
        assert 400 <= reply.status_code < 500
        assert "error" in reply.json()


def test_the_page_may_lead_back_to_the_program_and_to_nobody_else(visitor: Client, program: OAuthClient) -> None:
    policy = visitor.get(asked(program))["Content-Security-Policy"]
    assert "form-action 'self' http://127.0.0.1:33418;" in policy + ";"
    assert "frame-ancestors 'none'" in policy


def test_the_page_tells_where_it_leads_and_not_what_an_address_says(visitor: Client, db: None) -> None:
    uri = "evil://claude.ai/callback"
    program = OAuthClient.objects.create(name="<b>Claude</b>", redirect_uris=[uri])
    shown = visitor.get(asked(program, redirect_uri=uri)).content.decode()
    assert "<code>evil:</code>" in shown
    assert "&lt;b&gt;Claude" in shown
    reply = visitor.post(asked(program, redirect_uri=uri), {"answer": "allow"})
    assert reply["Location"].startswith(f"{uri}?code=")


def test_what_nobody_uses_is_deleted(visitor: Client, user: User, program: OAuthClient) -> None:
    answer_to(visitor, program)
    exchanged(program, answer_to(visitor, program)["code"])
    sweep_oauth()
    assert OAuthGrant.objects.for_owner(user).count() == 2
    with time_machine.travel(timezone.now() + dt.timedelta(days=91)):
        sweep_oauth()
    assert not OAuthGrant.objects.for_owner(user).exists()
    assert not ApiToken.objects.for_owner(user).exists()
    assert not OAuthClient.objects.exists()
