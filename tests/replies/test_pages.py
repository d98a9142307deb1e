"""The pages of generation presets and of the author's note."""

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from apps.chats.models import Chat
from apps.chats.operations import patch_metadata
from apps.common.documents.patches import DocumentPatch
from apps.prompts.assembly.frame import Note, note_of
from apps.replies.forms import StopsField
from apps.replies.models import GenerationPreset
from apps.replies.operations import UNCHECKED
from apps.replies.presets import create_preset

FORM = {"name": "Calm", "is_default": "on", "temperature": "0.5", "top_p": "", "max_tokens": "300"}
PRESETS = "/settings/presets/"


@pytest.fixture
def site(alice) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def only_preset(alice) -> GenerationPreset:
    return GenerationPreset.objects.for_owner(alice).get()


def test_a_preset_is_made_changed_and_deleted_on_its_pages(site, alice):
    assert "No presets yet" in site.get(PRESETS).content.decode()
    form = {**FORM, "stop": "\\n{{user}}:\r\nEND\r\n", "system_prompt": "Rhyme.\r\nAlways."}
    assert site.post(f"{PRESETS}new/", form).status_code == 302
    preset = only_preset(alice)
    assert (preset.temperature, preset.top_p, preset.is_default) == (0.5, None, True)
    assert (preset.stop, preset.system_prompt) == (["\n{{user}}:", "END"], "Rhyme.\nAlways.")
    url = f"{PRESETS}{preset.pk}/"
    assert "\\n{{user}}:\nEND" in site.get(url).content.decode()
    assert site.post(url, FORM | {"name": "Wild", "top_p": "0.9", "top_k": "40", "min_p": "0.05"}).status_code == 302
    assert "Temperature 0.5, top-p 0.9, top-k 40, min-p 0.05, up to 300 tokens" in site.get(PRESETS).content.decode()
    assert only_preset(alice).name == "Wild"
    assert "used by default" in site.get(f"{url}delete/").content.decode()
    assert site.post(f"{url}delete/").status_code == 302
    assert not GenerationPreset.objects.for_owner(alice).exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("temperature", "nan"),
        ("temperature", "3"),
        ("top_p", "-1"),
        ("top_k", "1.5"),
        ("min_p", "nan"),
        ("repetition_penalty", "3"),
        ("repetition_penalty", "0"),
        ("max_tokens", "0"),
        ("max_tokens", "9" * 30),
        ("stop", "a\nb\nc\nd\ne"),
        ("stop", "x" * 101),
        ("stop", "a\0"),
    ],
)
def test_a_bad_value_is_shown_at_its_field_and_nothing_is_saved(site, alice, field, value):
    preset = create_preset(alice, name="Kept")
    for url in (f"{PRESETS}new/", f"{PRESETS}{preset.pk}/"):
        shown = site.post(url, FORM | {field: value})
        assert shown.status_code == 400
        assert list(shown.context["form"].errors) == [field]
    assert only_preset(alice).name == "Kept"


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "It must be between 0.01 and 2."), ("de", "Es muss zwischen 0,01 und 2 liegen.")],
)
def test_the_message_about_a_repetition_penalty_names_its_range(site, language, said):
    form = FORM | {"repetition_penalty": "0"}
    page = site.post(f"{PRESETS}new/", form, headers={"Accept-Language": language}).content.decode()
    assert said in page


def test_a_second_default_takes_the_place_of_the_first(site, alice):
    create_preset(alice, name="First")
    site.post(f"{PRESETS}new/", FORM)
    assert [preset.name for preset in GenerationPreset.objects.for_owner(alice).filter(is_default=True)] == ["Calm"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), max_size=4))
def test_stop_texts_come_back_from_the_form_as_they_were(stops):
    field = StopsField()
    sent = field.prepare_value(stops).replace("\n", "\r\n")  # as a browser sends it
    assert field.clean(sent) == stops


def metadata_of(chat: Chat) -> dict:
    return Chat.objects.for_owner(chat.owner_id).get(pk=chat.pk).metadata


def test_the_authors_note_is_written_changed_and_removed(site, chat):
    url = f"/chats/{chat.pk}/note/"
    patch_metadata(chat.owner_id, chat.pk, DocumentPatch(merge={"theirs": 1}), UNCHECKED)
    assert site.post(url, {"text": "It rains on {{user}}.", "depth": "1"}).status_code == 302
    assert metadata_of(chat) == {"theirs": 1, "note_prompt": "It rains on {{user}}.", "note_depth": 1}
    assert "It rains on {{user}}." in site.get(url).content.decode()
    site.post(url, {"text": " ", "depth": "0"})
    assert metadata_of(chat) == {"theirs": 1, "note_depth": 0}


@pytest.mark.parametrize(("field", "value"), [("depth", "-1"), ("depth", ""), ("text", "x" * 20_001)])
def test_a_bad_note_is_refused_at_its_field(site, chat, field, value):
    shown = site.post(f"/chats/{chat.pk}/note/", {"text": "It rains.", "depth": "1"} | {field: value})
    assert (shown.status_code, list(shown.context["form"].errors)) == (400, [field])
    assert metadata_of(chat) == {}


def test_a_note_that_the_metadata_has_no_room_for_is_refused(site, chat, settings):
    settings.CHAT_METADATA_MAX_BYTES = 100
    shown = site.post(f"/chats/{chat.pk}/note/", {"text": "x" * 101, "depth": "1"})
    assert (shown.status_code, list(shown.context["form"].errors)) == (400, ["text"])


def test_the_chats_menu_leads_to_its_note(site, chat):
    assert f"/chats/{chat.pk}/note/" in site.get(f"/chats/{chat.pk}/").content.decode()


@pytest.mark.parametrize("depth", [None, "2", -1, 1.5, True, [], 10**30])
def test_a_note_written_by_another_program_never_breaks_the_prompt(depth):
    assert note_of({"note_prompt": ["It rains."], "note_depth": depth}).text == ""
    note = note_of({"note_prompt": "It rains.", "note_depth": depth})
    assert note == Note("It rains.", depth if depth == 10**30 else 4)
