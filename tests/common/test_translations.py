"""The German and Chinese texts: complete, and on every page for those who read them."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polib
import pytest
from django.core import mail
from django.test import Client
from django.urls import get_resolver
from django.utils import translation
from django.utils.translation.template import templatize

from apps.accounts.languages import in_language_of
from apps.accounts.models import User
from apps.extraction.prompts.task import TASKS
from apps.prompts.reasons import shown_reasons
from config.env import ROOT
from tests.contract.test_owner_scope import routes, things_of_alice, url_of
from tests.e2e.test_accessibility import NO_PAGES
from tests.lanes import further

LANGUAGES = {"de": "de", "zh-hans": "zh_Hans"}  # with their folders
CATALOGUES = [(language, domain) for language in LANGUAGES for domain in ("django", "djangojs")]
FUNCTIONS = {
    "gettext": 1,
    "gettext_lazy": 1,
    "gettext_noop": 1,
    "gettext_stored": 1,
    "_": 1,
    "ngettext": 2,
    "ngettext_lazy": 2,
    "ngettext_stored": 2,
}
PLACEHOLDERS = re.compile(r"%\(\w+\)s|\{\w*\}|</?\w+[^>]*>|&[#\w]+;")
Message = tuple[str | None, str]  # context and text


def path_of(language: str, file: str) -> Path:
    return ROOT / "locale" / LANGUAGES[language] / "LC_MESSAGES" / file


@cache
def catalogue(language: str, domain: str) -> polib.POFile:
    return polib.pofile(path_of(language, f"{domain}.po"))


def texts_of(entry: Any) -> list[tuple[str, str]]:
    """Return the pairs of an English text and its translation."""
    if entry.msgid_plural and len(entry.msgstr_plural) == 1:
        return [(entry.msgid_plural, entry.msgstr_plural[0])]  # Chinese has one form
    if entry.msgid_plural:
        return [(entry.msgid, entry.msgstr_plural[0]), (entry.msgid_plural, entry.msgstr_plural[1])]
    return [(entry.msgid, entry.msgstr)]


def placeholders_in(text: str) -> list[str]:
    return sorted(PLACEHOLDERS.findall(text))


def literals(node: ast.Call, number: int) -> list[str]:
    return [ast.literal_eval(argument) for argument in node.args[:number] if isinstance(argument, ast.Constant)]


def messages_in_python(source: str) -> Iterator[Message]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            yield from ((None, text) for text in literals(node, 1))


def messages_in_template(source: str) -> Iterator[Message]:
    text = r"""u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    for match in re.finditer(rf"(?:(p)gettext\({text}, *|n?gettext\(|\b_\(){text}", templatize(source)):
        context = ast.literal_eval(match[2]) if match[1] else None
        yield context, ast.literal_eval(match[3])


def messages_in_script(source: str) -> Iterator[Message]:
    for match in re.finditer(r'\bn?gettext\("((?:[^"\\]|\\.)*)"', source):
        yield None, match[1]


@cache
def used_messages(domain: str) -> set[Message]:
    if domain == "djangojs":
        files = (ROOT / "static" / "js").rglob("*.js")
        return {message for path in files for message in messages_in_script(path.read_text())}
    code = [path for path in (ROOT / "apps").rglob("*.py") if "migrations" not in path.parts]
    templates = [path for path in (ROOT / "templates").rglob("*") if path.suffix in (".html", ".txt")]
    found = {message for path in code for message in messages_in_python(path.read_text())}
    return found | {message for path in templates for message in messages_in_template(path.read_text())}


@pytest.mark.parametrize(("language", "domain"), CATALOGUES)
def test_the_catalogue_has_what_is_used_and_nothing_else(language: str, domain: str) -> None:
    assert {(entry.msgctxt, entry.msgid) for entry in catalogue(language, domain)} == used_messages(domain)


@pytest.mark.parametrize(("language", "domain"), CATALOGUES)
def test_every_entry_is_translated(language: str, domain: str) -> None:
    unfinished = [
        entry.msgid for entry in catalogue(language, domain) if entry.fuzzy or not all(dict(texts_of(entry)).values())
    ]
    assert unfinished == []


@pytest.mark.parametrize(("language", "domain"), CATALOGUES)
def test_placeholders_and_markup_are_the_same(language: str, domain: str) -> None:
    pairs = [pair for entry in catalogue(language, domain) for pair in texts_of(entry)]
    different = [
        text for text, other in pairs if sorted(PLACEHOLDERS.findall(text)) != sorted(PLACEHOLDERS.findall(other))
    ]
    assert different == []


@pytest.mark.parametrize(("language", "domain"), CATALOGUES)
def test_the_compiled_catalogue_is_that_of_the_texts(language: str, domain: str) -> None:
    compiled = polib.mofile(path_of(language, f"{domain}.mo"))
    assert {(entry.msgctxt, *texts_of(entry)) for entry in compiled} == {
        (entry.msgctxt, *texts_of(entry)) for entry in catalogue(language, domain)
    }


class VisibleTexts(HTMLParser):
    """Collect the texts of a page, and the attributes that people see or hear."""

    SEEN = ("aria-label", "title", "placeholder", "alt", "data-confirm")
    HIDDEN = ("script", "style", "pre", "code")

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.depth += tag in self.HIDDEN
        self.texts += [value for name, value in attrs if name in self.SEEN and value]

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag in self.HIDDEN

    def handle_data(self, data: str) -> None:
        if not self.depth:
            self.texts.append(" ".join(data.split()))


def english_texts(language: str) -> set[str]:
    """Return the English texts without placeholders that are other words in the language."""
    pairs = {pair for entry in catalogue(language, "django") for pair in texts_of(entry)}
    translated = {text for _, text in pairs}
    return {text.strip() for text, _ in pairs if text not in translated and "%(" not in text}


def pages_in(language: str, client: Client, ids: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for route in sorted(set(routes(get_resolver()))):
        if route.startswith(NO_PAGES):
            continue
        try:
            path = url_of(route, ids)
        except KeyError:
            continue
        reply = client.get(path, headers={"accept-language": language})
        if reply.status_code == 200 and not reply.streaming and b"</html>" in reply.content:
            yield path, reply.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "account"), [("de", "filled"), ("de", "empty"), ("de", "none"), further(("zh-hans", "filled"))]
)
def test_no_english_is_left_on_a_page(language: str, account: str) -> None:
    client, ids = Client(), things_of_alice() if account == "filled" else {}
    if account != "none":
        client.force_login(ids["user"] if ids else User.objects.create_user("alice@example.com"))
    english, left = english_texts(language), {}
    for path, page in pages_in(language, client, {"task": next(iter(TASKS)), **ids}):
        assert f'<html lang="{language}"' in page
        parser = VisibleTexts()
        parser.feed(page)
        if found := english & set(parser.texts):
            left[path] = found
    assert left == {}


@pytest.fixture
def reader() -> User:
    return User.objects.create_user("reader@example.com", "a long secret 1")


@pytest.mark.django_db
class TestLanguage:
    def test_it_is_that_of_the_browser(self, client: Client) -> None:
        page = client.get("/accounts/login/", headers={"accept-language": "de-AT,de;q=0.9,en;q=0.5"})
        assert "Willkommen zurück" in page.content.decode()
        assert page["Content-Language"] == "de"
        assert "Accept-Language" in page["Vary"]

    def test_another_language_is_answered_in_english(self, client: Client) -> None:
        page = client.get("/accounts/login/", headers={"accept-language": "fi"}).content.decode()
        assert '<html lang="en"' in page
        assert "Welcome back" in page
        assert "/language.js" not in page

    def test_the_choice_of_the_profile_comes_first(self, client: Client, reader: User) -> None:
        client.force_login(reader)
        client.post("/settings/", {"name": "R", "language": "de"}, headers={"accept-language": "en"})
        page = client.get("/settings/", headers={"accept-language": "en"}).content.decode()
        assert "Deine E-Mail" not in page
        assert "Anmeldung in zwei Schritten" in page
        assert '<html lang="de"' in page
        assert '<script src="/language.js?of=de"' in page

    def test_it_can_be_automatic_again(self, client: Client, reader: User) -> None:
        User.objects.filter(pk=reader.pk).update(language="de")
        client.force_login(reader)
        client.post("/settings/", {"name": "R", "language": ""})
        assert "Two-step sign-in" in client.get("/settings/", headers={"accept-language": "en"}).content.decode()

    def test_a_language_that_is_none_is_refused(self, client: Client, reader: User) -> None:
        client.force_login(reader)
        assert client.post("/settings/", {"name": "R", "language": "tlh"}).status_code == 400

    def test_errors_of_forms_are_in_it(self, client: Client, reader: User) -> None:
        client.force_login(reader)
        reply = client.post("/chats/new/", {"title": "x" * 300}, headers={"accept-language": "de"})
        assert "Zeichen" in reply.content.decode()

    def test_the_api_is_in_english(self, client: Client, reader: User) -> None:
        User.objects.filter(pk=reader.pk).update(language="de")
        client.force_login(reader)
        reply = client.get("/api/v1/chats/01930000-0000-7000-8000-000000000000/", headers={"accept-language": "de"})
        assert reply.json()["detail"] == "There is no such chat."

    def test_errors_of_missing_pages_are_in_it(self, client: Client) -> None:
        page = client.get("/no-such-page/", headers={"accept-language": "de"}).content.decode()
        assert "Hier ist nichts" in page

    def test_scripts_get_its_catalogue(self, client: Client) -> None:
        reply = client.get("/language.js?of=de")
        assert "Alles ist gespeichert." in reply.content.decode()
        assert client.get("/language.js?of=xx").status_code == 404

    def test_texts_for_a_user_are_in_the_chosen_one(self, reader: User) -> None:
        User.objects.filter(pk=reader.pk).update(language="de")
        with in_language_of(reader.pk):
            assert translation.gettext("Your report was read, and measures were taken.").startswith("Deine Meldung")
        assert translation.get_language() == "en"

    def test_mails_to_who_asks_are_in_it(self, client: Client, reader: User) -> None:
        client.post("/accounts/password/reset/", {"email": reader.email}, headers={"accept-language": "de"})
        assert "Hallo von Loci!" in mail.outbox[0].body

    def test_mails_about_changes_are_in_it_and_not_formal(self, client: Client, reader: User) -> None:
        User.objects.filter(pk=reader.pk).update(language="de")
        client.force_login(reader)
        passwords = {
            "oldpassword": "a long secret 1",
            "password1": "another long one 2",
            "password2": "another long one 2",
        }
        client.post("/accounts/password/change/", passwords)
        assert "Du bekommst diese Mail" in mail.outbox[0].body
        assert "Ihr" not in mail.outbox[0].body.split()


@pytest.mark.parametrize(
    ("why", "german"),
    [
        ("names Ione and Tam · said 1,204 messages ago", "nennt Ione und Tam · vor 1204 Nachrichten gesagt"),
        ("triggered by key · similar .71", "ausgelöst durch key · ähnlich .71"),
        ("said in “The Salt Road” · always included", "gesagt in „The Salt Road“ · immer dabei"),
        ("recalled by ST-BME", "recalled by ST-BME"),
    ],
)
def test_stored_reasons_of_a_recall_are_shown_in_german(why: str, german: str) -> None:
    assert shown_reasons(why) == why
    with translation.override("de"):
        assert shown_reasons(why) == german


def test_no_tool_of_gettext_is_needed_to_install() -> None:
    recipes = [ROOT / "Makefile", ROOT / "Dockerfile"]
    assert not any("compilemessages" in Path(path).read_text() for path in recipes if path.exists())
    assert all(path_of(language, f"{domain}.mo").exists() for language, domain in CATALOGUES)
