"""Pages of settings, prompts, model tests and search vectors."""

import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.extraction import tasks
from apps.extraction.models import EmbeddingJob, ModelTest
from apps.extraction.prompts.rendering import default_template, render, set_template, template_of
from apps.extraction.prompts.task import TASKS
from apps.extraction.settings.presets import PRESETS, preset_values
from apps.extraction.settings.schema import SETTINGS, validate
from apps.extraction.settings.stores import change_settings, settings_of, stored_settings
from apps.llm.operations import create_connection
from apps.memories.models import ChatMemory, Memory
from tests.factories import UserFactory, make_character, make_chat, make_memory

HTMX = {"HTTP_HX_REQUEST": "true"}
USERS = "/settings/memory/"


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory(email="alice@example.com")


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "The key is gone.", "I know.", character=make_character(alice))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list that collects the ids of tests and jobs sent to a worker."""
    found: list[str] = []
    monkeypatch.setattr(tasks.run_model_test, "delay", lambda *, test_id: found.append(test_id))
    monkeypatch.setattr(tasks.run_reembedding, "delay", lambda *, job_id: found.append(job_id))
    monkeypatch.setattr(tasks.run_reembedding, "apply_async", lambda *, kwargs, queue: found.append(kwargs["job_id"]))
    return found


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page(client: Client, url: str, **extra: Any) -> str:
    reply = client.get(url, **extra)
    assert reply.status_code == 200, reply
    return reply.content.decode()


def book(chat: Chat) -> str:
    return f"/memories/chats/{chat.pk}/book/settings/"


def of_character(chat: Chat) -> str:
    return f"/memories/characters/{chat.character_id}/settings/"


def row_of(html: str, name: str) -> str:
    """Return the row of a setting in the form."""
    [row] = [row for row in re.findall(r'<li class="field setting.*?</li>', html, re.S) if f'id="id_{name}"' in row]
    return row


# Settings


def pressed(html: str) -> list[str]:
    """Return the names of the presets that are shown as selected."""
    return re.findall(r'name="preset"\s+value="(\w+)"\s+aria-pressed="true"', html)


def test_a_preset_is_chosen_recognised_and_left(site: Client, alice: User) -> None:
    html = page(site, USERS)
    assert pressed(html) == ["balanced"]
    assert '<details class="all-settings">' in html
    site.post(USERS, {"preset": "light"})
    assert stored_settings(alice)["extract_every"] == 10
    assert pressed(page(site, USERS)) == ["light"]
    site.post(USERS, {"extract_every": "7"})
    changed = page(site, USERS)
    assert pressed(changed) == []
    assert '<details class="all-settings" open>' in changed
    site.post(USERS, {"preset": "thorough"})
    assert pressed(page(site, USERS)) == ["thorough"]
    site.post(USERS, {"preset": "balanced"})
    assert (pressed(page(site, USERS)), stored_settings(alice)) == (["balanced"], {})


def test_a_preset_keeps_other_settings_and_overrides_inherited_ones(site: Client, alice: User, chat: Chat) -> None:
    change_settings(alice, {"extract_every": 10, "session_cap": 77})
    site.post(book(chat), {"preset": "thorough"})
    settings = settings_of(chat)
    assert (settings.extract_every, settings.canon, settings.session_cap) == (3, True, 77)
    assert pressed(page(site, book(chat))) == ["thorough"]
    site.post(book(chat), {"preset": "balanced"})
    assert stored_settings(alice, chat=chat) == {"extract_every": 3}


@pytest.mark.parametrize("profile", ["A", "B"])
def test_the_values_of_each_preset_are_valid_and_differ(profile: str) -> None:
    values = [preset_values(preset, profile) for preset in PRESETS]
    for one in values:
        validate(one)
    assert len({tuple(one.items()) for one in values}) == len(PRESETS)


def test_the_form_shows_every_setting_with_its_value_and_origin(site: Client, chat: Chat) -> None:
    change_settings(chat.owner, {"extract_every": 5, "arcs": False})
    change_settings(chat.owner, {"session_cap": 11}, character=chat.character)
    for url in (USERS, of_character(chat), book(chat)):
        html = page(site, url)
        assert all(f'name="{name}"' in html for name in SETTINGS)
    html = page(site, book(chat))
    assert 'placeholder="5"' in row_of(html, "extract_every")
    assert "yours" in row_of(html, "extract_every")
    assert "Off (inherited)" in row_of(html, "arcs")
    assert "Mira’s" in row_of(html, "session_cap")
    assert 'placeholder="25"' in row_of(html, "long_term_cap")
    assert "default<" in row_of(html, "long_term_cap")
    assert "default for small models" in row_of(html, "new_per_kind")
    assert 'name="reset"' not in html
    mine = row_of(page(site, USERS), "extract_every")
    assert 'value="5"' in mine
    assert "Reset" in mine


def test_the_detected_profile_is_shown_and_can_be_overridden(site: Client, chat: Chat) -> None:
    assert "defaults are those for small models" in page(site, USERS)
    site.post(USERS, {"profile": "B"})
    html = page(site, book(chat))
    assert 'placeholder="4"' in row_of(html, "new_per_kind")
    assert "default for large models" in row_of(html, "new_per_kind")
    assert settings_of(chat).continuity


def test_settings_are_saved_and_reset_for_user_character_and_chat(site: Client, chat: Chat, alice: User) -> None:
    assert site.post(USERS, {"extract_every": "7", "scenes": "off", "duplicate": "0.9"}).status_code == 302
    assert stored_settings(alice) == {"extract_every": 7, "scenes": False, "duplicate": 0.9}
    site.post(of_character(chat), {"extract_every": "8"})
    site.post(book(chat), {"extract_every": "9", "scenes": "on"})
    assert (settings_of(chat).extract_every, settings_of(chat).scenes) == (9, True)
    site.post(book(chat), {"extract_every": "9", "scenes": "on", "reset": "extract_every"})
    assert stored_settings(alice, chat=chat) == {"scenes": True}
    site.post(of_character(chat), {"initial-extract_every": "8", "extract_every": ""})
    assert settings_of(chat).extract_every == 7


def test_a_stale_form_changes_only_what_the_person_changed(site: Client, alice: User) -> None:
    change_settings(alice, {"extract_every": 5, "scenes": True})
    shown = {
        name: value
        for name in ("extract_every", "scenes", "arcs_cap")
        for value in re.findall(rf'name="initial-{name}"(?: value="([^"]*)")?', page(site, USERS))
    }
    assert shown == {"extract_every": "5", "scenes": "on", "arcs_cap": ""}
    change_settings(alice, {"extract_every": 9, "scenes": None, "arcs_cap": 4})
    stale = {f"initial-{name}": value for name, value in shown.items()} | shown
    assert site.post(USERS, stale | {"session_cap": "12"}).status_code == 302
    assert stored_settings(alice) == {"extract_every": 9, "arcs_cap": 4, "session_cap": 12}


def test_fields_that_are_not_sent_are_unchanged(site: Client, alice: User) -> None:
    change_settings(alice, {"extract_every": 7})
    site.post(USERS, {"reset": "there is no such setting"})
    assert stored_settings(alice) == {"extract_every": 7}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("extract_every", "0", "between 1 and 200"),
        ("extract_every", "many", "whole number"),
        ("duplicate", "nan", "number"),
        ("duplicate", "7", "between 0.3 and 1"),
        ("scenes", "maybe", "Select a valid choice"),
        ("profile", "C", "Select a valid choice"),
    ],
)
def test_an_error_is_shown_at_its_field_and_nothing_is_saved(
    site: Client, alice: User, name: str, value: str, said: str
) -> None:
    reply = site.post(USERS, {"arcs_cap": "12", name: value})
    assert reply.status_code == 400
    html = reply.content.decode()
    assert said in row_of(html, name)
    assert 'value="12"' in row_of(html, "arcs_cap")
    assert stored_settings(alice) == {}


def test_a_folded_group_with_an_error_is_open(site: Client) -> None:
    assert open_groups(page(site, USERS)) == []
    assert open_groups(site.post(USERS, {"duplicate": "7"}).content.decode()) == ["Similarity"]


def open_groups(html: str) -> list[str]:
    """Return the titles of the groups that are unfolded."""
    return re.findall(r'<details class="setting-group"[^>]*\bopen\b[^>]*>\s*<summary>\s*<h2>([^<]+)', html)


def test_names_of_characters_are_escaped(site: Client, alice: User) -> None:
    character = make_character(alice, name="<b>Mira</b>")
    chat = make_chat(alice, character=character)
    change_settings(alice, {"arcs_cap": 3}, character=character)
    for url in (of_character(chat), book(chat)):
        assert "<b>Mira" not in page(site, url)


# Memory mode


def test_read_only_mode_is_started_and_ended(site: Client, chat: Chat) -> None:
    url = f"{book(chat)}mode/"
    assert "learns from new messages" in page(site, book(chat))
    site.post(url, {"mode": "read_only"})
    assert ChatMemory.of_chat(chat).mode == "read_only"
    html = page(site, book(chat))
    assert "only recalls" in html
    assert "from new messages only" in html
    site.post(url, {"mode": "full"})
    assert ChatMemory.of_chat(chat).mode == "full"
    assert chat.progress.exists()  # skipped: taken as read


def test_messages_written_in_read_only_mode_can_be_read_afterwards(site: Client, chat: Chat) -> None:
    site.post(f"{book(chat)}mode/", {"mode": "read_only"})
    site.post(f"{book(chat)}mode/", {"mode": "full", "learn": "on"})
    assert ChatMemory.of_chat(chat).mode == "full"
    assert not chat.progress.exists()


def test_a_fresh_start_is_confirmed_made_and_undone(site: Client, chat: Chat) -> None:
    memory = make_memory(chat, "They met at sea.", tier="session", kind="scene")
    asked = page(site, f"{book(chat)}fresh-start/")
    assert "You can undo it." in asked
    memory.refresh_from_db()
    assert memory.state == Memory.State.ACTIVE
    site.post(f"{book(chat)}fresh-start/")
    memory.refresh_from_db()
    assert memory.state == Memory.State.RETIRED
    assert "Undo the fresh start" in page(site, book(chat))
    site.post(f"{book(chat)}fresh-start/undo/")
    memory.refresh_from_db()
    assert memory.state == Memory.State.ACTIVE


@pytest.mark.parametrize("path", ["mode/", "fresh-start/undo/"])
def test_changes_need_a_post(site: Client, chat: Chat, path: str) -> None:
    assert site.get(f"{book(chat)}{path}").status_code == 405


def test_the_book_links_to_settings_and_export(site: Client, chat: Chat) -> None:
    assert f'href="{book(chat)}"' in page(site, f"/memories/chats/{chat.pk}/book/")
    assert f"/api/v1/chats/{chat.pk}/memory-export/" in page(site, book(chat))


# Prompts


def test_every_task_is_listed_and_has_a_page(site: Client, alice: User) -> None:
    html = page(site, "/settings/prompts/")
    assert ">yours<" not in html
    set_template(alice, "arcs", "{{open}} {{transcript}}")
    assert page(site, "/settings/prompts/").count(">yours<") == 1
    for task in TASKS:
        assert f"/settings/prompts/{task}/" in html
    assert site.get("/settings/prompts/there-is-none/").status_code == 404


def test_a_page_shows_the_built_in_template_and_its_placeholders(site: Client) -> None:
    html = page(site, "/settings/prompts/long_term/")
    assert html.count("Write one line for each memory") == 2  # in the editor, and as the built-in template
    assert "{{transcript}}" in html
    assert "the messages, numbered, between marks" in html


def test_a_template_is_saved_and_reset_without_losing_the_text(site: Client, alice: User) -> None:
    url, mine = "/settings/prompts/arcs/", "Mine: {{open}} {{transcript}}"
    assert site.post(url, {"text": mine, "action": "save"}).status_code == 302
    assert template_of(alice, "arcs") == mine
    html = site.post(url, {"text": mine, "action": "reset"}).content.decode()
    assert template_of(alice, "arcs") is None
    assert "The built-in template is in use again" in html
    assert ">Mine: {{open}} {{transcript}}</textarea>" in html


def test_errors_of_a_template_are_shown(site: Client, alice: User) -> None:
    reply = site.post("/settings/prompts/arcs/", {"text": "{{open}} {{nonsense}}", "action": "save"})
    assert reply.status_code == 400
    html = reply.content.decode()
    assert "{{transcript}} is missing." in html
    assert "{{nonsense}} is unknown to this task." in html
    assert ">{{open}} {{nonsense}}</textarea>" in html
    assert template_of(alice, "arcs") is None


def test_a_template_is_previewed_without_being_saved(site: Client, alice: User) -> None:
    reply = site.post("/settings/prompts/arcs/", {"text": "Mine: {{open}} {{transcript}}", "action": "preview"})
    assert "Mine: 1. Who shut the harbour?" in reply.content.decode()
    assert template_of(alice, "arcs") is None
    assert site.post("/settings/prompts/arcs/", {"text": "", "action": "preview"}).status_code == 400


@pytest.mark.parametrize("task", TASKS)
def test_there_is_example_material_for_every_task(task: str) -> None:
    material = TASKS[task].preview_material
    filled = render(task, material, default_template(task))[-1]["content"]
    assert "{{" not in filled
    required = render(task, material, " ".join(f"<{{{{{name}}}}}>" for name in TASKS[task].required))
    assert "<(nothing)>" not in required[-1]["content"]


def test_templates_are_escaped(site: Client) -> None:
    reply = site.post("/settings/prompts/arcs/", {"text": "</textarea><script>{{open}} {{transcript}}"})
    assert "<script>{{" not in reply.content.decode()
    assert "<script>{{" not in page(site, "/settings/prompts/arcs/")


# Model tests


def test_a_test_is_started_watched_and_cancelled(
    site: Client, alice: User, sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        reply = site.post("/settings/models/test/", {"connection": ""})
    [test] = ModelTest.objects.for_owner(alice)
    assert sent == [str(test.pk)]
    assert reply["Location"] == f"/settings/models/test/{test.pk}/"
    partial = page(site, reply["Location"], **HTMX)
    assert "<html" not in partial
    assert 'hx-trigger="load delay:1s"' in partial
    again = site.post("/settings/models/test/", {"connection": ""}, follow=True)
    assert "Another test is running" in again.content.decode()
    cancelled = site.post(f"{reply['Location']}cancel/", **HTMX).content.decode()
    assert "Cancelled" in cancelled
    assert "hx-get" not in cancelled
    assert "cancelled" in page(site, "/settings/models/test/")


def test_a_finished_test_shows_its_score_and_the_raw_replies(
    site: Client, alice: User, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks():
        site.post("/settings/models/test/", {"connection": ""})
    [test] = ModelTest.objects.for_owner(alice)
    tasks.run_model_test(test_id=str(test.pk))
    html = page(site, f"/settings/models/test/{test.pk}/")
    assert html.count("What it wrote") == test.total
    assert "of 100:" in html
    assert "hx-get" not in html.partition('id="model-test"')[2]


def test_another_users_connection_can_not_be_tested(site: Client) -> None:
    theirs = create_connection(UserFactory(), name="Theirs", base_url="http://127.0.0.1:9/v1", model="m")
    assert "Theirs" not in page(site, "/settings/models/test/")
    assert site.post("/settings/models/test/", {"connection": theirs.pk}).status_code == 400


# Vectors


def test_the_models_page_shows_the_progress_of_embeddings(
    site: Client, chat: Chat, alice: User, sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    assert 'hx-get="/settings/models/vectors/"' in page(site, "/settings/models/")
    url = "/settings/models/vectors/"
    assert "All search vectors are computed with all-MiniLM-L6-v2." in page(site, url, **HTMX)
    make_memory(chat, "Tom likes tea.", embedding_model="of-before")
    assert "1 memory or message has no search vector" in page(site, url)
    with django_capture_on_commit_callbacks(execute=True):
        html = site.post(f"{url}start/", **HTMX).content.decode()
    [job] = EmbeddingJob.objects.for_owner(alice)
    assert sent == [str(job.pk)]
    assert 'hx-trigger="load delay:2s"' in html
    site.post(f"{url}cancel/")
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert "Compute them now" in page(site, url)


# Access


@pytest.mark.parametrize("page", ["memory/", "prompts/", "prompts/arcs/", "models/test/", "models/vectors/"])
def test_pages_require_a_login(db: None, page: str) -> None:
    assert Client().get(f"/settings/{page}")["Location"].startswith("/accounts/login/")


def test_pages_of_other_users_are_404(chat: Chat) -> None:
    stranger = signed_in(UserFactory())
    for url in (book(chat), of_character(chat), f"{book(chat)}fresh-start/"):
        assert stranger.get(url).status_code == 404
        assert stranger.post(url, {"extract_every": "9"}).status_code == 404
    assert stranger.post(f"{book(chat)}mode/", {"mode": "read_only"}).status_code == 404
    assert ChatMemory.of_chat(chat).mode == "full"
