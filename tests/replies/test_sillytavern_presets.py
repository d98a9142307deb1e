"""Presets of SillyTavern are imported, with a report of what was taken and what was not."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.common.problems import Invalid
from apps.replies.models import GenerationPreset
from apps.replies.preset_numbers import NUMBERS
from apps.replies.sillytavern import NUMBER_KEYS, read_preset
from tests.factories import UserFactory

URL = "/settings/presets/import/"
TEXT_COMPLETION = {
    "temp": 1.13,
    "top_p": 1,
    "top_k": 0,
    "min_p": 0.02,
    "rep_pen": 1.05,
    "rep_pen_range": 2048,
    "tfs": 1,
    "typical_p": 1,
    "dry_multiplier": 0.8,
    "xtc_probability": 0,
    "mirostat_mode": 0,
    "sampler_order": [6, 0, 1],
    "genamt": 350,
    "max_length": 8192,
}
CHAT_COMPLETION = {
    "temperature": 0.9,
    "frequency_penalty": 0.3,
    "presence_penalty": 0,
    "top_p": 0.95,
    "openai_max_context": 32000,
    "openai_max_tokens": 600,
    "prompts": [
        {"identifier": "main", "name": "Main Prompt", "role": "system", "content": "Write {{char}}'s next reply."},
        {"identifier": "jailbreak", "name": "Post-History", "role": "system", "content": "Stay in the scene."},
        {"identifier": "a1", "name": "Pacing", "role": "system", "content": "Let scenes breathe."},
        {"identifier": "a2", "name": "Off", "role": "system", "content": "Never mind."},
        {"identifier": "chatHistory", "name": "Chat History", "marker": True},
    ],
    "prompt_order": [
        {"character_id": 100000, "order": [{"identifier": "main", "enabled": False}]},
        {
            "character_id": 100001,
            "order": [{"identifier": "main", "enabled": True}, {"identifier": "a2", "enabled": False}],
        },
    ],
}
HUGE = 10**400
VALUES = st.none() | st.booleans() | st.integers() | st.just(HUGE) | st.floats() | st.text(max_size=8)
NESTED = VALUES | st.lists(VALUES, max_size=2)
JSON = VALUES | st.lists(
    VALUES | st.dictionaries(st.sampled_from(["identifier", "content", "order"]), NESTED), max_size=3
)
KEYS = st.sampled_from([key for keys in NUMBER_KEYS.values() for key in keys] + ["prompts", "prompt_order", "content"])


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory(email="alice@example.com")


def test_samplers_of_text_completion_are_taken_and_others_named() -> None:
    found = read_preset("Universal", TEXT_COMPLETION)
    assert found.fields == {
        "name": "Universal",
        "temperature": 1.13,
        "top_p": 1,
        "top_k": 0,
        "min_p": 0.02,
        "repetition_penalty": 1.05,
        "max_tokens": 350,
    }
    assert found.left == ["rep_pen_range", "dry_multiplier"]


def test_samplers_and_prompts_of_chat_completion_are_taken() -> None:
    found = read_preset("Slow burn", CHAT_COMPLETION)
    assert found.fields["temperature"] == 0.9
    assert found.fields["max_tokens"] == 600
    assert found.fields["system_prompt"] == "Write {{char}}'s next reply."
    assert found.fields["post_history_instructions"] == "Stay in the scene."
    assert found.left == ["the prompt “Pacing”", "frequency_penalty"]


def test_a_system_prompt_of_its_own_file_keeps_its_name() -> None:
    found = read_preset("file", {"name": "Actor", "content": "Be {{char}}.", "post_history": "Go on."})
    assert found.fields == {
        "name": "Actor", "system_prompt": "Be {{char}}.", "post_history_instructions": "Go on."
    }  # fmt: skip


def test_values_out_of_range_become_the_nearest_ones_and_it_says_so() -> None:
    found = read_preset("Hot", {"temp": 4, "top_k": -1, "rep_pen": 0})
    assert (found.fields["temperature"], found.fields["top_k"], found.fields["repetition_penalty"]) == (2, 0, 0.01)
    assert found.taken[0] == "Temperature 2, the nearest to 4"


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ([], "JSON object"),
        ({"input_sequence": "### Input:", "name": "Alpaca"}, "template"),
        ({"temp": "warm", "spec": "chara_card_v2"}, "none of the settings"),
        ({}, "none of the settings"),
    ],
)
def test_what_is_no_preset_is_refused_with_the_reason(document: Any, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        read_preset("x", document)


@given(st.dictionaries(KEYS | st.text(max_size=10), JSON, max_size=8))
def test_any_document_gives_a_valid_preset_or_a_reason(document: dict[str, Any]) -> None:
    try:
        found = read_preset("x", document)
    except Invalid:
        return
    for name, number in NUMBERS.items():
        assert name not in found.fields or number.low <= found.fields[name] <= number.high


def upload(site: Client, *files: tuple[str, bytes]) -> Any:
    return site.post(URL, {"file": [SimpleUploadedFile(name, content) for name, content in files]})


def test_several_files_are_imported_with_a_report_of_each(site: Client, alice: User) -> None:
    good = json.dumps(CHAT_COMPLETION).encode()
    reply = upload(
        site,
        ("Slow burn.json", good),
        ("broken.json", b"{"),
        ("Universal.settings", json.dumps(TEXT_COMPLETION).encode()),
    )
    html = reply.content.decode()
    assert reply.status_code == 200
    assert set(GenerationPreset.objects.for_owner(alice).values_list("name", flat=True)) == {"Slow burn", "Universal"}
    assert "Temperature 0.9" in html
    assert "dry_multiplier" in html
    assert "not JSON" in html


def test_hostile_files_are_reported_beside_those_that_are_imported(site: Client, alice: User) -> None:
    reply = upload(
        site,
        ("good.json", b'{"temp": 1}'),
        ("prompts.json", b'{"temp": 1, "prompts": [{"identifier": [], "content": "Go."}, {"identifier": {}}, 1]}'),
        ("huge.json", f'{{"temp": {HUGE}, "top_k": -{HUGE}, "top_p": 0.5}}'.encode()),
        ("huger.json", b'{"temp": ' + b"9" * 9000 + b"}"),
    )
    assert reply.status_code == 200
    assert "temp is no number" in reply.content.decode()
    stored = dict(GenerationPreset.objects.for_owner(alice).values_list("name", "temperature"))
    assert stored == {"good": 1, "prompts": 1, "huge": GenerationPreset().temperature}


def test_a_file_that_is_none_stores_nothing(site: Client, alice: User) -> None:
    assert upload(site, ("x.json", b"\xff\xfe\x00")).status_code == 400
    assert site.post(URL).status_code == 302
    assert site.get(URL).status_code == 405
    assert not GenerationPreset.objects.for_owner(alice).exists()
