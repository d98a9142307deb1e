"""Settings page of connections: create, use, test and delete them; keys are never shown."""

import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.test import Client, override_settings
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.llm import operations
from apps.llm.backends.connection_check import check_connection
from apps.llm.forms import ConnectionForm
from apps.llm.models import Connection, TokenLimit, Usage
from apps.llm.operations import default_parallel_calls
from apps.llm.presets import PRESETS
from tests.factories import UserFactory, make_chat
from tests.lanes import sampled
from tests.llm.conftest import ciphertext_of
from tests.llm.scripted_server import MODELS, Reply, ScriptedServer

URL = "/settings/models/"
KEY = "sk-very-secret-abcd"
HTMX = {"HTTP_HX_REQUEST": "true"}


def form_of(**fields) -> dict:
    """Return the fields of the form."""
    given = {"name": "Home", "backend": "openai", "base_url": "https://models.example.com/v1", "api_key": ""}
    given |= {"model": "small", "embedding_model": "", "context_tokens": "8192", "timeout": "120", "stream": "on"}
    return given | fields


def connect(owner: User, **fields) -> Connection:
    given = {"name": "Home", "backend": "openai", "base_url": "https://models.example.com/v1", "api_key": KEY}
    given |= {"model": "small", "embedding_model": "", "context_tokens": 8192, "timeout": 120, "stream": True}
    return operations.create_connection(owner, **given | fields)


def text_of(reply) -> str:
    """Return the text of a page without tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", reply.content.decode()).split())


def test_without_a_connection_the_page_says_what_works_anyway(site):
    page = text_of(site.get(URL))
    assert "The built-in extractor works without a key" in page
    assert "quotes sentences of your chats" in page
    assert f'href="{URL}add/"' in site.get(URL).content.decode()


def test_the_settings_link_to_the_page(site):
    assert f'href="{URL}"' in site.get("/settings/").content.decode()


def test_a_connection_is_made_by_the_form(alice, site):
    reply = site.post(f"{URL}add/", form_of(api_key=KEY, stream=""))
    made = Connection.objects.for_owner(alice).get()
    assert (reply.status_code, reply["Location"]) == (302, f"{URL}#connection-{made.pk}")
    assert (made.name, made.model, made.stream, made.api_key_hint) == ("Home", "small", False, "abcd")
    page = text_of(site.get(URL))
    assert all(words in page for words in ("Home", "models.example.com", "small", "…abcd", "Not tested yet"))


def test_a_key_is_never_in_a_page(alice, site):
    connection = connect(alice)
    wrong = form_of(api_key=KEY, timeout="0")
    replies = [
        site.get(URL),
        site.get(f"{URL}{connection.pk}/"),
        site.post(f"{URL}{connection.pk}/", wrong),
        site.post(f"{URL}add/", wrong),
        site.post(f"{URL}offered/", form_of(api_key=KEY, base_url="ftp://x")),
        site.get(f"{URL}{connection.pk}/delete/"),
    ]
    for reply in replies:
        assert reply.status_code in (200, 400)
        assert KEY not in reply.content.decode()
        assert ciphertext_of(connection).decode() not in reply.content.decode()


def test_an_empty_key_keeps_the_stored_one_and_a_box_removes_it(alice, site):
    connection = connect(alice)
    stored = connection.api_key
    assert "it ends in <code>abcd</code>" in site.get(f"{URL}{connection.pk}/").content.decode()
    site.post(f"{URL}{connection.pk}/", form_of(name="Renamed"))
    connection.refresh_from_db()
    assert (connection.name, connection.api_key) == ("Renamed", stored)
    both = site.post(f"{URL}{connection.pk}/", form_of(api_key="another", remove_key="on"))
    assert (both.status_code, "Either remove" in text_of(both)) == (400, True)
    site.post(f"{URL}{connection.pk}/", form_of(remove_key="on"))
    connection.refresh_from_db()
    assert (connection.api_key, connection.api_key_hint) == ("", "")
    assert "Remove the stored key" not in text_of(site.get(f"{URL}{connection.pk}/"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("backend", "other"),
        ("base_url", "http://10.0.0.1/v1"),
        ("base_url", "ftp://models.example.com"),
        ("base_url", "https://user:password@models.example.com"),
        ("base_url", "http://["),
        ("base_url", "https://models.example.com/v1?key=1"),
        ("context_tokens", "10"),
        ("timeout", "601"),
        ("api_key", "two words\x00"),
        ("parallel_calls", "17"),
        ("reasoning_effort", "much"),
        ("extra_body", "top_p: 1"),
        ("extra_body", "[1]"),
        ("extra_body", '{"messages": []}'),
        ("extra_body", '{"top_p": NaN}'),
        ("extra_body", '{"stop": "\\u0000"}'),
        ("prompt_price", "-1"),
        ("completion_price", "dear"),
        ("currency", "dollars"),
    ],
)
def test_errors_are_shown_at_their_fields(alice, site, field, value):
    reply = site.post(f"{URL}add/", form_of(**{field: value}))
    assert reply.status_code == 400
    assert reply.context["form"].errors.keys() == {field}
    assert not Connection.objects.for_owner(alice).exists()


def test_an_address_is_refused_together_with_other_fields(site):
    reply = site.post(f"{URL}add/", form_of(name="", base_url="models.example.com/v1"))
    assert reply.context["form"].errors.keys() == {"name", "base_url"}
    assert "It must begin with http:// or https://." in reply.content.decode()


def test_how_a_connection_calls_and_what_it_costs_are_kept(alice, site):
    given = {"parallel_calls": "3", "reasoning_effort": "low", "extra_body": '{"top_p": 0.9}'}
    prices = {"prompt_price": "0.15", "completion_price": "0.6", "currency": "eur"}
    site.post(f"{URL}add/", form_of(**given, **prices))
    made = Connection.objects.for_owner(alice).get()
    assert (made.parallel_calls, made.reasoning_effort, made.extra_body) == (3, "low", {"top_p": 0.9})
    assert (made.prompt_price, made.completion_price, made.currency) == (Decimal("0.15"), Decimal("0.6"), "EUR")
    page = site.get(f"{URL}{made.pk}/").content.decode()
    assert "{&quot;top_p&quot;: 0.9}" in page
    site.post(f"{URL}{made.pk}/", form_of())
    made.refresh_from_db()
    assert (made.parallel_calls, made.extra_body, made.prompt_price, made.currency) == (4, {}, None, "USD")


def test_a_new_connection_is_offered_settings_of_common_servers(alice, site):
    page = site.get(f"{URL}add/").content.decode()
    offered = json.loads(re.search(r'<script id="presets" type="application/json">(.*?)</script>', page)[1])
    assert set(offered) == {preset.name for preset in PRESETS}
    for name, preset in offered.items():
        assert f"<option>{name}</option>" in page
        assert preset["note"]
        assert preset["fields"].keys() <= ConnectionForm.base_fields.keys()
    assert "data-presets" not in site.get(f"{URL}{connect(alice).pk}/").content.decode()


@pytest.mark.parametrize("preset", sampled(PRESETS, 6), ids=lambda preset: preset.name)
@override_settings(LLM_ALLOWED_ADDRESSES=["private", "localhost"])
def test_each_preset_is_a_valid_connection_without_a_model_list(alice, site, preset):
    fields = preset.fields() | {"model": "typed-by-hand", "stream": "on"}
    assert site.post(f"{URL}add/", fields).status_code == 302
    made = Connection.objects.for_owner(alice).get()
    assert (made.name, made.base_url, made.parallel_calls) == (preset.name, preset.base_url, preset.parallel_calls)
    assert made.parallel_calls == default_parallel_calls(made.backend, made.base_url) or preset.name == "vLLM"


def test_one_connection_serves_each_purpose(alice, site):
    first, second = connect(alice, name="First", embedding_model="v"), connect(alice, name="Second")
    site.post(f"{URL}{first.pk}/use/", {"purpose": "generation", "used": "on"})
    site.post(f"{URL}{first.pk}/use/", {"purpose": "embeddings", "used": "on"})
    reply = site.post(f"{URL}{second.pk}/use/", {"purpose": "generation", "used": "on"}, follow=True)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.for_generation, first.for_embeddings, second.for_generation) == (False, True, True)
    pressed = re.findall(r'id="use-(\w+)-(\S+)"\s+type="submit"\s+aria-pressed="true"', reply.content.decode())
    assert set(pressed) == {("generation", str(second.pk)), ("embeddings", str(first.pk))}
    site.post(f"{URL}{second.pk}/use/", {"purpose": "generation"})
    second.refresh_from_db()
    assert not second.for_generation


def test_a_connection_without_a_model_can_not_be_used(alice, site):
    connection = connect(alice)
    assert "Enter an embedding model first" in text_of(site.get(URL))
    for fields in ({"purpose": "embeddings", "used": "on"}, {"purpose": "nothing", "used": "on"}):
        reply = site.post(f"{URL}{connection.pk}/use/", fields, follow=True)
        assert reply.status_code == 200
        assert 'class="toast error"' in reply.content.decode()
    connection.refresh_from_db()
    assert not connection.for_embeddings


def test_deleting_asks_first(alice, site):
    connection = connect(alice)
    assert "Delete “Home”?" in text_of(site.get(f"{URL}{connection.pk}/delete/"))
    assert Connection.objects.for_owner(alice).exists()
    assert site.post(f"{URL}{connection.pk}/delete/").status_code == 302
    assert not Connection.objects.for_owner(alice).exists()


def test_deleting_says_how_many_chats_chose_it(alice, site):
    connection = connect(alice)
    url = f"{URL}{connection.pk}/delete/"
    assert "chose it" not in text_of(site.get(url))
    for count, words in ((1, "1 chat that chose it goes back"), (2, "2 chats that chose it go back")):
        Chat.objects.for_owner(alice).filter(pk=make_chat(alice, "Hi").pk).update(connection=connection)
        assert words in text_of(site.get(url)), count


def test_a_model_in_the_browser_that_only_a_chat_names_is_in_use(alice, site):
    connection = operations.create_connection(alice, name="Here", backend="browser", model="small")
    assert "It is not in use" in text_of(site.get(f"{URL}browser/"))
    Chat.objects.for_owner(alice).filter(pk=make_chat(alice, "Hi").pk).update(connection=connection)
    assert "It is not in use" not in text_of(site.get(f"{URL}browser/"))


def test_usage_is_shown_by_day_and_by_model_against_the_limit(alice, site):
    today = timezone.now().date()
    for days, model, tokens in ((0, "small", 900), (3, "small", 100), (3, "large", 4000), (14, "old", 5)):
        Usage.objects.create(
            owner=alice,
            day=today - timedelta(days=days),
            model=model,
            calls=1,
            prompt_tokens=tokens,
            completion_tokens=50,
        )
    assert site.post(f"{URL}limit/", {"daily_tokens": "1000"}).status_code == 302
    reply = site.get(URL)
    page = text_of(reply)
    assert "950 tokens today of 1,000, your own limit." in page
    assert "at most 4,200 a day" in page
    assert page.index("large 1 4,000 50") < page.index("small 2 1,000 100")
    assert "old" not in page
    assert [bar.tokens for bar in reply.context["usage"].bars if bar.tokens] == [4200, 950]
    assert (len(reply.context["usage"].bars), max(bar.height for bar in reply.context["usage"].bars)) == (14, 100)


def test_the_own_limit_is_set_and_lifted(alice, site):
    site.post(f"{URL}limit/", {"daily_tokens": "0"})
    assert TokenLimit.objects.for_owner(alice).get().own_daily_tokens == 0
    assert "The limit is reached" in text_of(site.get(URL))
    assert site.post(f"{URL}limit/", {"daily_tokens": "-1"}).status_code == 400
    assert TokenLimit.objects.for_owner(alice).get().own_daily_tokens == 0
    site.post(f"{URL}limit/", {"daily_tokens": ""})
    assert not TokenLimit.objects.for_owner(alice).exclude(own_daily_tokens=None).exists()


def test_connections_of_others_are_not_found(alice, site):
    connection = connect(UserFactory(email="charlie@example.com"), name="Theirs")
    assert "Theirs" not in text_of(site.get(URL))
    for path in ("", "offered/", "use/", "test/", "delete/"):
        assert site.post(f"{URL}{connection.pk}/{path}", form_of()).status_code == 404
    assert Client().get(URL).status_code == 302


@pytest.mark.parametrize("headers", [HTMX, {}])
def test_a_successful_test_is_shown(alice, site, server, headers):
    connection = connect(alice, base_url=server.url, model=MODELS[0], embedding_model=MODELS[1])
    page = text_of(site.post(f"{URL}{connection.pk}/test/", **headers))
    assert "It works." in page
    assert "2 models found" in page
    assert f"{MODELS[0]} replied in " in page
    assert f"{MODELS[1]} gave a vector of 16 numbers" in page
    assert ("Settings" in page) == (headers == {})
    assert "Tested just now: it works." in text_of(site.get(URL))


@pytest.mark.parametrize("headers", [HTMX, {}])
def test_a_failed_test_is_shown_and_stored(alice, site, server, headers):
    server.reply_to(lambda request: True, Reply(raw=b"<b>no</b>", status=401))
    connection = connect(alice, base_url=server.url)
    page = text_of(site.post(f"{URL}{connection.pk}/test/", **headers))
    assert "It does not work. The server refuses the key" in page
    assert "The last test failed , just now. The server refuses the key" in text_of(site.get(URL))


def test_a_connection_is_tested_once_it_is_saved(alice, site, server):
    server.reply_to(lambda request: "Bearer wrong" in request.headers.values(), Reply(raw=b"no", status=401))
    reply = site.post(f"{URL}add/", form_of(base_url=server.url, api_key="wrong", use_now="on"), follow=True)
    made = Connection.objects.for_owner(alice).get()
    test_by_page = f'hx-post="{URL}{made.pk}/test/" hx-trigger="load"'
    assert test_by_page in reply.content.decode()
    assert "The server refuses the key" in text_of(site.post(f"{URL}{made.pk}/test/", **HTMX))
    for shown in (site.get(URL), site.get(reply.redirect_chain[-1][0])):
        assert "The server refuses the key" in text_of(shown)
        assert test_by_page not in shown.content.decode()
    changed = site.post(f"{URL}{made.pk}/", form_of(base_url=server.url, api_key="right"), follow=True)
    assert test_by_page in changed.content.decode()
    assert "The server refuses the key" not in text_of(changed)
    assert "It works." in text_of(site.post(f"{URL}{made.pk}/test/", **HTMX))


def test_a_connection_that_is_changed_while_it_is_tested_stays_untested(alice, server):
    tested = connect(alice, base_url=server.url, model=MODELS[0])
    operations.update_connection(Connection.objects.for_owner(alice).get(), name="Other")
    assert check_connection(tested).ok
    assert Connection.objects.for_owner(alice).get().checked_at is None


def test_a_server_s_text_is_escaped(alice, site, server):
    shout = "<img src=x onerror=alert(1)>"
    server.reply_to(lambda request: True, Reply(raw=b'{"error": {"message": "%s"}}' % shout.encode(), status=400))
    connection = connect(alice, base_url=server.url)
    assert shout not in site.post(f"{URL}{connection.pk}/test/", **HTMX).content.decode()
    assert shout not in site.get(URL).content.decode()


@pytest.mark.parametrize("headers", [HTMX, {}])
def test_the_form_lists_the_models_of_its_server(alice, site, server, headers):
    fields = form_of(name="", base_url=server.url, api_key=KEY)
    reply = site.post(f"{URL}offered/", fields, **headers)
    page = reply.content.decode()
    assert (reply.status_code, "This field is required" in page) == (200, False)
    assert all(f'<option value="{model}">' in page for model in MODELS)
    assert KEY not in page
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert not Connection.objects.for_owner(alice).exists()


def test_listing_sends_the_stored_key_to_its_own_server_alone(alice, site, server):
    connection = connect(alice, base_url=server.url)
    site.post(f"{URL}{connection.pk}/offered/", form_of(base_url=f"{server.url}/v1"), **HTMX)
    with ScriptedServer("ready") as other:
        site.post(f"{URL}{connection.pk}/offered/", form_of(base_url=other.url), **HTMX)
        assert "authorization" not in other.requests[0].headers
    site.post(f"{URL}{connection.pk}/offered/", form_of(base_url=server.url, remove_key="on"), **HTMX)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in server.requests[-1].headers


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("", "http://"),
        ("ftp://x", "http://"),
        ("http://10.0.0.1", "LLM_ALLOWED_ADDRESSES"),
        ("http://127.0.0.1:9", "can&#x27;t be reached"),
    ],
)
def test_the_reason_is_shown_if_models_can_not_be_listed(site, address, told):
    reply = site.post(f"{URL}offered/", form_of(base_url=address), **HTMX)
    assert reply.status_code == 200
    assert told in reply.content.decode()


@pytest.mark.parametrize(("allowed", "words"), [(["private"], "in its network, may be connected"), ([], "Only public")])
def test_the_form_says_which_addresses_may_be_connected(site, allowed, words):
    with override_settings(LLM_ALLOWED_ADDRESSES=allowed):
        assert words in text_of(site.get(f"{URL}add/"))


def test_a_connection_is_used_at_once_and_leads_to_old_chats(alice, site):
    reply = site.post(f"{URL}add/", form_of(use_now="on", embedding_model="vectors"), follow=True)
    made = Connection.objects.for_owner(alice).get()
    assert (made.for_generation, made.for_embeddings) == (True, True)
    assert reply.redirect_chain == [(f"{URL}read-again/", 302)]
    assert "“Home” was added. small writes your memories and replies from now on." in text_of(reply)


def test_a_changed_connection_is_used_only_if_that_is_chosen(alice, site):
    connection = connect(alice)
    page = site.get(f"{URL}{connection.pk}/")
    assert page.context["form"]["use_now"].value() is False
    assert site.post(f"{URL}{connection.pk}/", form_of())["Location"] == f"{URL}#connection-{connection.pk}"
    connection.refresh_from_db()
    assert not connection.for_generation
    assert site.post(f"{URL}{connection.pk}/", form_of(use_now="on"))["Location"] == f"{URL}read-again/"
    connection.refresh_from_db()
    assert connection.for_generation
    assert "use_now" not in site.get(f"{URL}{connection.pk}/").content.decode()


def test_a_connection_without_a_model_cannot_be_used_at_once(alice, site):
    site.post(f"{URL}add/", form_of(model="", use_now="on"))
    assert not Connection.objects.for_owner(alice).get().for_generation


PAST, FAR = datetime(2026, 11, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "values",
    [
        {"check_error": "Nobody answers.", "checked_at": None},
        {"backend": "gone"},
        {"base_url": "http://[::1", "checked_at": PAST},
        {"base_url": "not an address"},
        {"extra_body": [1, {"messages": None}], "currency": "x"},
        {"context_tokens": 0, "timeout": 0, "name": "", "api_key_hint": "–––––"},
        {"model": "", "embedding_model": "", "embedding_dimensions": 0},
        {"page_seen_at": FAR, "checked_at": FAR},
    ],
    ids=lambda values: "-".join(values),
)
def test_a_row_that_no_form_makes_is_shown_and_can_be_deleted(alice, site, values):
    connection = connect(alice)
    Connection.objects.for_owner(alice).filter(pk=connection.pk).update(**values)
    address = f"{URL}{connection.pk}/"
    assert [site.get(path).status_code for path in (URL, address, f"{address}delete/")] == [200, 200, 200]
    assert site.get("/api/v1/connections/").status_code == 200
    assert site.post(f"{address}delete/").status_code == 302
    assert not Connection.objects.for_owner(alice).exists()


def test_more_tokens_than_a_column_can_hold_are_shown(alice, site):
    most, today = 2**63 - 1, timezone.now().date()
    for model in ("a", ""):
        Usage.objects.create(owner=alice, day=today, model=model, prompt_tokens=most, completion_tokens=most)
    TokenLimit.objects.create(owner=alice, daily_tokens=most, own_daily_tokens=0)
    page = text_of(site.get(URL))
    assert f"{4 * most:,}" in page
    assert site.get("/settings/usage/").status_code == 200
    assert site.get("/api/v1/usage/").status_code == 200
