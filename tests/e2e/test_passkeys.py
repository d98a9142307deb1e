"""Passkeys in a real browser, whose authenticator is virtual."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.operations import ensure_user

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

PASSWORD = "correct horse 9"
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def enter_password(page: Page) -> None:
    page.get_by_label("Email").fill("alice@example.com")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_a_passkey_is_a_second_step_and_replaces_the_password(page: Page, live_server: LiveServer) -> None:
    ensure_user("alice@example.com", PASSWORD)
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    # A passkey belongs to a name, not to an address.
    site = live_server.url.replace("127.0.0.1", "localhost")

    page.goto(f"{site}/accounts/login/")
    enter_password(page)
    page.goto(f"{site}/settings/")
    page.get_by_text("Your data and your account").click()
    page.get_by_role("link", name="Two-step sign-in").click()
    page.get_by_role("link", name="Add one…").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Name").fill("Laptop")
    page.get_by_label("Passwordless").check()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()

    page.context.clear_cookies()
    page.goto(f"{site}/accounts/login/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url(f"{site}/")
    page.goto(f"{site}/accounts/2fa/webauthn/")
    expect(page.get_by_role("row", name="Laptop")).to_contain_text("also without a password")

    page.context.clear_cookies()
    page.goto(f"{site}/accounts/login/")
    enter_password(page)
    expect(page.get_by_role("heading", name="Second step")).to_be_visible()
    page.get_by_role("button", name="Use a passkey or security key").click()
    page.wait_for_url(f"{site}/")
