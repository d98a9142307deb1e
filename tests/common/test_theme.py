"""The choice of colours, which the server's first byte already has, and pages under the content security policy."""

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


def test_the_theme_is_in_the_first_byte(client):
    assert choose(client, "dark", "/accounts/login/") == "/accounts/login/"
    assert first_tag(client) == '<html lang="en" data-theme="dark">'


def test_so_is_the_size_of_the_text(client):
    choose(client, "dark")
    client.post(reverse("theme"), {"text_size": "large"})
    assert first_tag(client) == '<html lang="en" data-theme="dark" data-text-size="large">'


@pytest.mark.parametrize("theme", ["auto", "", 'x" onload="'])
def test_anything_else_is_what_the_system_says(client, theme):
    choose(client, "light")
    choose(client, theme)
    assert first_tag(client) == '<html lang="en">'


def test_a_cookie_of_somebody_else_s_making_is_no_theme(client):
    client.cookies["theme"] = "dark><script>"
    assert first_tag(client) == '<html lang="en">'


@pytest.mark.parametrize("target", ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)", ""])
def test_it_leads_nowhere_else(client, target):
    assert choose(client, "dark", target) == "/"


def test_it_takes_a_post(client):
    assert client.get(reverse("theme")).status_code == 405


@pytest.mark.parametrize(
    "path", ["/", "/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/nowhere/"]
)
def test_pages_have_no_script_or_style_of_their_own(client, path):
    body = client.get(path).content.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style", body)
    assert not re.search(r"<[^>]*\s(style|on\w+)=", body)


def test_what_is_not_there_has_a_page(client):
    page = client.get("/nowhere/")
    assert page.status_code == 404
    assert "There is nothing here" in page.content.decode()
