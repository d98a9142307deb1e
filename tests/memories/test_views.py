"""The pages of what is remembered: shown, found, corrected, forgotten and undone; strangers find nothing."""

import uuid
from typing import Any

import pytest
from django.test import Client
from django.utils.html import strip_tags

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common import jobs
from apps.extraction import tasks
from apps.extraction.models import ExtractionRun
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.memories.models import Memory, MemorySource
from apps.search import views as search_views
from apps.search.reasons import describe_signals
from apps.search.service import SearchResponse, SearchResult
from apps.text.lexemes import Lexemes
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_character, make_chat, make_memory

HTMX = {"HTTP_HX_REQUEST": "true"}
STORY = [
    "*Alice moved to Paris in March with her brother Tom.*",
    "Hm.",
    "*Alice left Paris in May and moved to Lyon without her brother Tom.*",
    "Ah.",
]


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory(email="alice@example.com")


@pytest.fixture
def stranger(db: None) -> Client:
    return signed_in(UserFactory())


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, *STORY, character=make_character(alice))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that were sent to a worker."""
    found: list[str] = []
    monkeypatch.setattr(tasks.run_extraction, "delay", lambda *, run_id: found.append(run_id))
    return found


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page(client: Client, url: str, **extra: Any) -> str:
    reply = client.get(url, **extra)
    assert reply.status_code == 200, reply
    return reply.content.decode()


def extracted(chat: Chat) -> ExtractionRun:
    run, _ = start_run(chat.owner_id, chat)
    pipeline.execute(run.pk)
    run.refresh_from_db()
    return run


def is_whole_page(html: str) -> bool:
    return "<html" in html


# The memory book


def test_an_empty_book_says_how_memories_come(site: Client) -> None:
    html = page(site, "/memories/")
    assert "No memories yet" in html
    assert "0 entries" in html


def test_the_book_shows_what_is_known_and_what_it_replaced(site: Client, chat: Chat) -> None:
    extracted(chat)
    html = page(site, "/memories/?tier=long_term")
    assert "moved to Lyon" in html
    assert "was: Alice moved to Paris" in strip_tags(html)
    assert f'href="/chats/{chat.pk}/?at=2"' in html
    assert ">#2 in " in html


def test_the_book_is_filtered_by_what_stands_in_the_url(site: Client, chat: Chat, alice: User) -> None:
    make_memory(chat, "Tom likes tea", kind="preference")
    make_memory(chat, "They met at sea", tier="session", kind="scene")
    make_memory(chat, "Tom lived in Rome", state="superseded")
    make_memory(chat, "Tom owned a hat", state="retired", retired_reason="source_gone")
    make_memory(make_chat(alice), "Elsewhere")
    make_memory(chat, "Forgotten", deleted_at=chat.created_at)

    def shown(query: str) -> set[str]:
        html = page(site, f"/memories/?{query}")
        texts = ["Tom likes tea", "They met at sea", "Tom lived in Rome", "Tom owned a hat", "Elsewhere", "Forgotten"]
        return {text for text in texts if f'"memory-text">{text}<' in html}

    assert shown("") == {"Tom likes tea", "They met at sea", "Elsewhere"}
    assert shown("tier=session") == {"They met at sea"}
    assert shown("kind=preference") == {"Tom likes tea"}
    assert shown("state=superseded") == {"Tom lived in Rome"}
    assert shown("state=retired") == {"Tom owned a hat"}
    assert shown(f"chat={chat.pk}") == {"Tom likes tea", "They met at sea"}
    assert shown("q=TEA") == {"Tom likes tea"}
    assert shown(f"chat={chat.pk}&tier=long_term&q=tom") == {"Tom likes tea"}
    assert shown("tier=nonsense&kind=x&state=y&chat=z&page=w") == {"Tom likes tea", "They met at sea", "Elsewhere"}
    assert shown(f"chat={uuid.uuid4()}") == set()
    assert "No matches" in page(site, "/memories/?q=nowhere")


def test_tabs_keep_the_other_filters(site: Client, chat: Chat) -> None:
    make_memory(chat, "Tom likes tea")
    html = page(site, f"/memories/?chat={chat.pk}&tier=session&q=tea")
    assert f"?tier=long_term&amp;chat={chat.pk}&amp;q=tea" in html
    assert html.count('aria-current="page">One chat') == 1


def test_a_long_book_is_read_page_by_page(site: Client, chat: Chat) -> None:
    for n in range(60):
        make_memory(chat, f"Memory number {n}.", pinned=n == 0)
    first, second = page(site, "/memories/"), page(site, "/memories/?page=2", **HTMX)
    assert first.count('class="card memory"') == 50
    assert "page=2" in first
    assert "Memory number 0." in first  # pinned
    assert second.count('class="card memory"') == 10
    assert not is_whole_page(second)
    assert "page=3" not in second


def test_what_a_memory_says_is_text_and_not_markup(site: Client, chat: Chat) -> None:
    memory = make_memory(chat, "<script>alert(1)</script> & “so”")
    for url in (
        "/memories/",
        f"/memories/{memory.pk}/",
        f"/memories/{memory.pk}/edit/",
        f"/memories/chats/{chat.pk}/rail/",
    ):
        assert "<script>alert" not in page(site, url)


@pytest.mark.parametrize(("count", "most"), [(1, 12), (40, 12)])
def test_the_book_costs_the_same_however_long_it_is(
    site: Client, chat: Chat, count: int, most: int, django_assert_max_num_queries: Any
) -> None:
    extracted(chat)
    for n in range(count):
        memory = make_memory(chat, f"Memory number {n}.", superseded_by=None)
        message = chat.messages.with_swipes().first()
        MemorySource.objects.create(owner=chat.owner, memory=memory, message=message, swipe=message.active_swipe)
    with django_assert_max_num_queries(most):
        page(site, "/memories/")
    with django_assert_max_num_queries(most):
        page(site, f"/memories/chats/{chat.pk}/rail/")


# Search


def test_search_finds_memories_and_tells_when_there_are_none(site: Client, chat: Chat) -> None:
    assert "Nothing found" not in page(site, "/memories/search/")
    assert "Nothing found" in page(site, "/memories/search/?q=zebra")
    memory = make_memory(chat, "plain")
    site.post(f"/memories/{memory.pk}/edit/", {"text": "The zebra sleeps.", "kind": "fact", "importance": 2})
    html = page(site, "/memories/search/?q=zebra")
    assert "The zebra sleeps." in html
    assert f"/memories/{memory.pk}/" in html


@pytest.mark.parametrize(
    ("signals", "why"),
    [
        ({"vector": 0.71, "lexical": 0.3}, "similar .71 · shares its words"),
        ({"vector": 0.12, "window_vector": 0.4}, "near a match"),
        ({"window_lexical": 0.2}, "near a match"),
        ({"vector": 0.12, "answer": 0.5}, "near a match"),
        ({"vector": 0.12, "window_vector": 0.2}, "similar .12"),
        ({"vector": -0.05, "recency": 1.0, "length": 0.5, "session": 0.4}, ""),
    ],
)
def test_each_result_of_a_search_says_why_it_was_found(signals: dict[str, float], why: str) -> None:
    assert describe_signals(signals) == why


def test_what_has_nothing_in_common_with_the_words_is_no_result(
    site: Client, alice: User, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = [make_memory(chat, text) for text in ("Tom keeps a zebra.", "Mira likes tea.")]
    results = [
        SearchResult("long_term", memory, None, None, 0.5, signals, memory.text, memory.text)
        for memory, signals in zip(memories, ({"lexical": 0.5}, {"recency": 1.0}), strict=True)
    ]
    monkeypatch.setattr(search_views, "search", lambda owner, query: SearchResponse("hybrid", results))
    html = page(site, "/memories/search/?q=zebra")
    assert "1 result" in html
    assert "Tom keeps a zebra." in html
    assert "Mira likes tea." not in html


@pytest.mark.parametrize("words", ["%00", "%22%27%3B--", "%F0%9F%98%80", "x" * 3000, "%ED%A0%80", "((("])
def test_any_words_can_be_searched_for(site: Client, chat: Chat, words: str) -> None:
    page(site, f"/memories/search/?q={words}")
    page(site, f"/memories/?q={words}")


# Corrections


def test_a_memory_is_corrected_in_place(site: Client, chat: Chat) -> None:
    memory = make_memory(chat, "Tom likes tea.")
    form = page(site, f"/memories/{memory.pk}/edit/", **HTMX)
    assert "Tom likes tea." in form
    assert not is_whole_page(form)
    data = {"text": "Tom likes coffee.", "kind": "preference", "importance": 3}
    reply = site.post(f"/memories/{memory.pk}/edit/", data, **HTMX)
    assert reply.status_code == 200
    assert "Tom likes coffee." in reply.content.decode()
    assert not is_whole_page(reply.content.decode())
    memory.refresh_from_db()
    assert (memory.text, memory.kind, memory.importance) == ("Tom likes coffee.", "preference", 3)
    assert (memory.version, memory.edited_by) == (2, "alice@example.com")


def test_a_memory_is_corrected_without_scripts_too(site: Client, chat: Chat) -> None:
    memory = make_memory(chat, "Tom likes tea.")
    assert is_whole_page(page(site, f"/memories/{memory.pk}/edit/"))
    data = {"text": "Tom likes coffee.", "kind": "fact", "importance": 2}
    reply = site.post(f"/memories/{memory.pk}/edit/", data, follow=True)
    assert reply.redirect_chain == [(f"/memories/{memory.pk}/", 302)]
    assert "Tom likes coffee." in reply.content.decode()


@pytest.mark.parametrize(
    "wrong",
    [{"text": ""}, {"text": " "}, {"text": "x" * 4001}, {"kind": "mood"}, {"importance": "9"}, {"text": "a\x00"}],
)
def test_a_correction_that_cannot_be_made_is_told_and_changes_nothing(
    site: Client, chat: Chat, wrong: dict[str, str]
) -> None:
    memory = make_memory(chat, "as it was")
    data = {"text": "new", "kind": "fact", "importance": "2"} | wrong
    reply = site.post(f"/memories/{memory.pk}/edit/", data)
    assert reply.status_code == 400
    assert "field-error" in reply.content.decode()
    memory.refresh_from_db()
    assert (memory.text, memory.version) == ("as it was", 1)


def test_a_memory_is_forgotten_and_the_deletion_undone(site: Client, chat: Chat) -> None:
    memory = make_memory(chat, "Tom likes tea.")
    gone = site.post(f"/memories/{memory.pk}/delete/", **HTMX).content.decode()
    assert "Undo" in gone
    assert "Tom likes tea." not in gone
    assert "Tom likes tea." not in page(site, "/memories/")
    back = site.post(f"/memories/{memory.pk}/restore/", **HTMX).content.decode()
    assert "Tom likes tea." in back
    assert "Tom likes tea." in page(site, "/memories/")


@pytest.mark.parametrize("action", ["delete", "restore", "pin", "hide"])
def test_without_scripts_a_change_leads_to_the_memorys_page(site: Client, chat: Chat, action: str) -> None:
    memory = make_memory(chat, "Tom likes tea.")
    reply = site.post(f"/memories/{memory.pk}/{action}/")
    assert (reply.status_code, reply["Location"]) == (302, f"/memories/{memory.pk}/")
    assert is_whole_page(page(site, f"/memories/{memory.pk}/"))
    assert site.get(f"/memories/{memory.pk}/{action}/").status_code == 405


def test_a_memory_is_pinned_and_hidden_and_the_other_way_round(site: Client, chat: Chat) -> None:
    memory = make_memory(chat, "Tom likes tea.")
    assert "Unpin" in site.post(f"/memories/{memory.pk}/pin/", **HTMX).content.decode()
    assert "hidden from prompts" in site.post(f"/memories/{memory.pk}/hide/", **HTMX).content.decode()
    memory.refresh_from_db()
    assert memory.pinned
    assert memory.hidden
    site.post(f"/memories/{memory.pk}/pin/")
    site.post(f"/memories/{memory.pk}/hide/")
    memory.refresh_from_db()
    assert not memory.pinned
    assert not memory.hidden


def test_a_change_needs_the_forms_token(alice: User, chat: Chat) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(alice)
    memory = make_memory(chat, "Tom likes tea.")
    assert careful.post(f"/memories/{memory.pk}/delete/").status_code == 403
    assert Memory.objects.for_owner(alice).present().filter(pk=memory.pk).exists()


# Beside the conversation


def test_the_rail_shows_what_bears_on_the_chat_and_nothing_hidden(site: Client, chat: Chat, alice: User) -> None:
    elsewhere = make_chat(alice, character=chat.character)
    make_memory(chat, "said here", tier="session")
    make_memory(elsewhere, "known of Mira")
    make_memory(elsewhere, "said elsewhere", tier="session")
    make_memory(make_chat(alice), "of somebody else")
    for text, fields in (
        ("hidden one", {"hidden": True}),
        ("old one", {"state": "superseded"}),
        ("gone one", {"deleted_at": chat.created_at}),
    ):
        make_memory(chat, text, **fields)
    html = page(site, f"/memories/chats/{chat.pk}/rail/", **HTMX)
    assert not is_whole_page(html)
    assert "What Mira knows in every chat" in html
    assert all(text in html for text in ("said here", "known of Mira"))
    others = ("said elsewhere", "of somebody else", "hidden one", "old one", "gone one")
    assert not any(text in html for text in others)
    assert is_whole_page(page(site, f"/memories/chats/{chat.pk}/rail/"))


def test_an_empty_rail_says_what_will_stand_there(site: Client, alice: User) -> None:
    assert "Memories come with the first messages." in page(site, f"/memories/chats/{make_chat(alice).pk}/rail/")
    chat = make_chat(alice, "Hello.")
    assert "Nothing yet" in page(site, f"/memories/chats/{chat.pk}/rail/")


def test_progress_is_followed_to_the_end_and_then_the_rail_is_read_anew(
    site: Client, chat: Chat, sent: list[str]
) -> None:
    url = f"/memories/chats/{chat.pk}/progress/"
    assert "hx-get" not in page(site, url)
    run, _ = start_run(chat.owner_id, chat)
    reply = site.get(url, **HTMX)
    assert f'hx-get="{url}?was_active"' in reply.content.decode()
    assert "Waiting" in reply.content.decode()
    assert "HX-Trigger" not in site.get(f"{url}?was_active", **HTMX)
    pipeline.execute(run.pk)
    done = site.get(f"{url}?was_active", **HTMX)
    assert done["HX-Trigger"] == "remembered"
    assert "kept" in done.content.decode()
    assert "hx-get" not in done.content.decode()
    assert "HX-Trigger" not in site.get(url, **HTMX)


def test_a_run_that_failed_says_why(site: Client, chat: Chat) -> None:
    run, _ = start_run(chat.owner_id, chat)
    claimed = jobs.claim(ExtractionRun, run.pk)
    assert claimed is not None
    jobs.end(claimed, "failed", "The model did not answer.")
    html = page(site, f"/memories/chats/{chat.pk}/progress/?was_active")
    assert "The model did not answer." in html
    assert "Your chat is safe" in html


def test_the_message_about_a_failed_run_is_closed_for_good(site: Client, chat: Chat) -> None:
    run, _ = start_run(chat.owner_id, chat)
    dismiss = f"/memories/runs/{run.pk}/dismiss/"
    site.post(dismiss, **HTMX)  # one that has not ended has nothing to close yet
    claimed = jobs.claim(ExtractionRun, run.pk)
    assert claimed is not None
    jobs.end(claimed, "failed", "The model did not answer.")
    assert dismiss in site.get(f"/memories/chats/{chat.pk}/progress/", **HTMX).content.decode()
    assert "Remembering stopped" not in site.post(dismiss, **HTMX).content.decode()
    assert "Remembering stopped" not in site.get(f"/memories/chats/{chat.pk}/progress/", **HTMX).content.decode()


def test_remembering_is_started_and_stopped(
    site: Client, chat: Chat, sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        html = site.post(f"/memories/chats/{chat.pk}/extract/", **HTMX).content.decode()
    run = ExtractionRun.objects.for_owner(chat.owner_id).get(chat=chat)
    assert sent == [str(run.pk)]
    assert f"/memories/runs/{run.pk}/cancel/" in html
    stopped = site.post(f"/memories/runs/{run.pk}/cancel/", **HTMX)
    assert "Stopped" in stopped.content.decode()
    assert stopped["HX-Trigger"] == "remembered"
    run.refresh_from_db()
    assert run.state == "cancelled"
    assert site.post(f"/memories/chats/{chat.pk}/extract/")["Location"] == f"/chats/{chat.pk}/"


# Who may come in


def test_a_stranger_finds_nothing(stranger: Client, chat: Chat, alice: User) -> None:
    memory = make_memory(chat, "Tom likes tea.")
    run, _ = start_run(alice, chat)
    for url in (f"{memory.pk}/", f"{memory.pk}/edit/", f"chats/{chat.pk}/rail/", f"chats/{chat.pk}/progress/"):
        assert stranger.get(f"/memories/{url}").status_code == 404
    writes = [f"{memory.pk}/{action}/" for action in ("edit", "delete", "restore", "pin", "hide")]
    for url in (*writes, f"chats/{chat.pk}/extract/", f"runs/{run.pk}/cancel/"):
        assert stranger.post(f"/memories/{url}", {"text": "x", "kind": "fact", "importance": 1}).status_code == 404
    for url in ("/memories/", f"/memories/?chat={chat.pk}", "/memories/search/?q=tea"):
        html = page(stranger, url)
        assert "Tom likes tea." not in html
        assert chat.title not in html
    memory.refresh_from_db()
    run.refresh_from_db()
    assert (memory.text, memory.deleted_at, memory.version, run.state) == ("Tom likes tea.", None, 1, "queued")


def test_without_memories_there_is_nothing_to_filter(site: Client, alice: User) -> None:
    assert "Filter memories" not in page(site, "/memories/")
    make_memory(make_chat(alice, "Tea.", character=make_character(alice)), "Tom likes tea.")
    assert "Filter memories" in page(site, "/memories/?q=coffee")


def test_a_memory_to_split_is_not_shown_as_a_mistake(site: Client, chat: Chat) -> None:
    memory = make_memory(chat, "Tom likes tea, and hates coffee.")
    form = page(site, f"/memories/{memory.pk}/split/")
    assert memory.text in form
    assert "aria-invalid" not in form


def test_who_is_not_signed_in_is_asked_to(db: None) -> None:
    for url in ("/memories/", "/memories/search/", f"/memories/{uuid.uuid4()}/"):
        reply = Client().get(url)
        assert reply.status_code == 302
        assert "login" in reply["Location"]


def test_the_search_page_narrows_its_results(site: Client, alice: User, chat: Chat) -> None:
    other = make_chat(alice, "Tea.", character=make_character(alice, "Tom"))
    make_memory(chat, "Alice drinks green tea.", kind="preference", lexemes=Lexemes("Alice drinks green tea."))
    make_memory(other, "Tom sells black tea.", kind="event", lexemes=Lexemes("Tom sells black tea."))
    search = "/memories/search/?q=tea"

    def shown(query: str) -> list[str]:
        html = page(site, search + query)
        return [text for text in ("Alice drinks", "Tom sells") if text in html]

    assert shown("") == ["Alice drinks", "Tom sells"]
    assert shown("&kind=event") == ["Tom sells"]
    assert shown("&tier=session") == []
    assert shown(f"&chat={chat.pk}") == ["Alice drinks"]
    assert other.character
    assert shown(f"&character={other.character.pk}") == ["Tom sells"]
    assert shown("&to=1999-01-01") == []
    assert shown("&until=1999-01-01") == []
    assert "search without filters" in page(site, f"{search}&to=1999-01-01")
    foreign = make_chat(UserFactory(), "Tea.", title="A secret chat")
    assert "A secret chat" not in page(site, f"{search}&chat={foreign.pk}")
    assert shown("&kind=nothing&from=someday") == ["Alice drinks", "Tom sells"]


def test_what_was_forgotten_stands_in_no_other_card(site: Client, chat: Chat) -> None:
    now = make_memory(chat, "Tom lives in Lyon.")
    before = make_memory(chat, "Tom lives in Paris.", state="superseded", superseded_by=now)
    assert "Tom lives in Paris." in strip_tags(page(site, "/memories/"))
    site.post(f"/memories/{before.pk}/delete/")
    for url in ("/memories/", f"/memories/chats/{chat.pk}/book/", f"/memories/{now.pk}/"):
        assert "Tom lives in Paris." not in strip_tags(page(site, url))
    site.post(f"/memories/{before.pk}/restore/")
    site.post(f"/memories/{now.pk}/delete/")
    assert "Tom lives in Lyon." not in strip_tags(page(site, "/memories/?state=superseded"))


def test_the_list_of_programs_has_retired_memories_only_if_asked(alice: User, chat: Chat) -> None:
    lasting = [make_memory(chat, f"It is {state}.", state=state) for state in ("active", "superseded", "retired")]
    api = client_of(alice)

    def listed(**query: str) -> list[str]:
        return sorted(row["text"] for row in api.get("/api/v1/memories/", query).json()["results"])

    for of in ({}, {"chat": str(chat.pk)}):
        assert listed(**of) == ["It is active.", "It is superseded."]
        assert listed(**of, state="retired") == [lasting[2].text]
