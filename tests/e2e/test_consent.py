"""A program sends its user to Loci, who signs in, allows it, and is led back; then ends it on the tokens' page."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.mcp.models import OAuthClient
from tests.e2e.test_chat_page import sign_in
from tests.mcp.test_oauth import asked, exchanged
from tests.servers import serving

pytestmark = pytest.mark.e2e


class Callback(BaseHTTPRequestHandler):
    """What a program listens with for its code."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"You can close this page.")

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def program() -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), Callback)
    server.asked = []
    with serving(server):
        yield server


def test_a_program_is_allowed_and_ended(page: Page, live_server: LiveServer, program: HTTPServer) -> None:
    alice = User.objects.create_user("alice@example.com", "alice-password")
    callback = f"http://127.0.0.1:{program.server_port}/callback"
    client = OAuthClient.objects.create(name="Test program", redirect_uris=[callback])
    page.goto(asked(client, redirect_uri=callback, resource=None))
    sign_in(page, alice)
    expect(page.get_by_role("heading", name="“Test program” asks for your memory")).to_be_visible()
    page.get_by_label("Scope").select_option("Read only")
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_text("You can close this page.")).to_be_visible()
    (code,) = parse_qs(urlsplit(program.asked[0]).query)["code"]
    assert exchanged(client, code, redirect_uri=callback).json()["scope"] == "read"

    page.goto("/settings/tokens/")
    row = page.get_by_role("row", name="Test program")
    expect(row).to_contain_text("read only, connected by you")
    page.once("dialog", lambda dialog: dialog.accept())
    row.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("The token “Test program” was revoked.")).to_be_visible()
