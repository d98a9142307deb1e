"""Theme, text size and the key that sends in rendered pages, and the content security policy."""

import re

import pytest
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db


def choose(client: Client, theme: str, target: str = "") -> str:
    return client.post(reverse("theme"), {"theme": theme, "next": target})["Location"]


def first_tag(client: Client) -> str:
    found = re.search(r"<html[^>]*>", client.get("/").content.decode())
    assert found
    return found[0]


def test_the_theme_is_rendered_by_the_server(client):
    assert choose(client, "dark", "/accounts/login/") == "/accounts/login/"
    assert first_tag(client) == '<html lang="en" data-theme="dark">'


def test_the_text_size_is_rendered_by_the_server(client):
    choose(client, "dark")
    client.post(reverse("theme"), {"text_size": "large"})
    assert first_tag(client) == '<html lang="en" data-theme="dark" data-text-size="large">'


def test_the_key_that_sends_is_rendered_by_the_server(client):
    client.post(reverse("theme"), {"send_key": "enter"})
    assert first_tag(client) == '<html lang="en" data-send-key="enter">'
    client.post(reverse("theme"), {"send_key": "ctrl-enter"})
    assert first_tag(client) == '<html lang="en">'


@pytest.mark.parametrize("theme", ["auto", "", 'x" onload="'])
def test_an_unknown_theme_means_the_default(client, theme):
    choose(client, "light")
    choose(client, theme)
    assert first_tag(client) == '<html lang="en">'


def test_an_invalid_cookie_is_ignored(client):
    client.cookies["theme"] = "dark><script>"
    assert first_tag(client) == '<html lang="en">'


@pytest.mark.parametrize("target", ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)", ""])
def test_a_redirect_to_another_site_is_refused(client, target):
    assert choose(client, "dark", target) == "/"


def test_the_theme_is_only_set_by_post(client):
    assert client.get(reverse("theme")).status_code == 405


@pytest.mark.parametrize(
    "path", ["/", "/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/nowhere/"]
)
def test_pages_have_no_inline_script_or_style(client, path):
    body = client.get(path).content.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style", body)
    assert not re.search(r"<[^>]*\s(style|on\w+)=", body)


def test_an_unknown_path_has_a_page(client):
    page = client.get("/nowhere/")
    assert page.status_code == 404
    assert "There is nothing here" in page.content.decode()
