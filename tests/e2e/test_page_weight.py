"""The chat page as it is served: few requests, few bytes, and scripts that work in one file."""

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import override_settings
from django.utils import timezone
from playwright.sync_api import Browser, expect

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common.pages.static_files import collect_if_changed
from benchmarks.page import MOST_BYTES, MOST_REQUESTS, chat_with_text, session_of, visit, web_server
from tests import collected_settings
from tests.conftest import wait_for_idle_database

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def served(django_db_setup: None) -> Iterator[str]:
    """The URL of a web server that serves collected files."""
    names = ("STATIC_ROOT", "STATICFILES_DIRS", "STATICFILES_FINDERS", "STORAGES")
    collected = {name: getattr(collected_settings, name) for name in names}
    with override_settings(**collected):
        collect_if_changed()
    environment = {
        "DJANGO_SETTINGS_MODULE": collected_settings.__name__,
        "LOCI_TEST_HOME": str(settings.LOCI_HOME),
        "LOG_LEVEL": "ERROR",
    }
    with web_server(**environment) as url:
        yield url


@pytest.fixture
def chat(transactional_db: None) -> Iterator[Chat]:
    yield chat_with_text(User.objects.create_user("alice@example.com", welcomed_at=timezone.now()), 120)
    wait_for_idle_database()


def test_a_first_visit_takes_few_requests_and_few_bytes(served: str, browser: Browser, chat: Chat) -> None:
    first = visit(browser, served, f"/chats/{chat.pk}/", session_of(chat.owner))
    print(*first.sizes.most_common(), sep="\n")  # shown on failure
    assert len(first.sizes) <= MOST_REQUESTS
    assert first.sizes.total() <= MOST_BYTES


def test_a_message_is_sent_by_the_scripts_in_one_file(served: str, browser: Browser, chat: Chat) -> None:
    errors: list[str] = []
    with browser.new_context(base_url=served) as context:
        cookie = {"name": settings.SESSION_COOKIE_NAME, "value": session_of(chat.owner), "url": served}
        context.add_cookies([cookie])
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"/chats/{chat.pk}/")
        page.get_by_label("Your message").fill("Where is *the key*?")
        page.get_by_label("Your message").press("Control+Enter")
        expect(page.locator("#turn-120")).to_contain_text("Where is the key?")
    assert errors == []
    assert chat.messages.count() == 121
