"""What the built-in reader derived is told apart, and a person has one name in the registry."""

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.extraction.models import ExtractionRun
from apps.memories.models import Arc, Entity, Knowledge, LedgerEntry, Relationship, Scene, VersionedText
from apps.memories.operations.entities import get_or_create_entity
from apps.prompts.retrieval.layers import LAYERS
from apps.prompts.turns import find_turn
from tests.factories import UserFactory, make_character, make_chat, make_memory

FOLD = 'class="guesses"'
PAGES = ("story", "scenes")


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory()


@pytest.fixture
def site(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "Where is Tom?", "Away.", character=make_character(alice, "Mira"))


def run_of(chat: Chat, backend: str) -> ExtractionRun:
    return ExtractionRun.objects.create(owner=chat.owner, chat=chat, backend=backend, state="succeeded")


def entity(chat: Chat, name: str, kind: str = "character") -> Entity:
    return get_or_create_entity(chat, name, kind)


def derive(chat: Chat, run: ExtractionRun, mark: str) -> None:
    """Have a run derive one entry of each layer, with a mark in its text."""
    common = {"owner": chat.owner, "chat": chat, "run": run}
    tom, ann = entity(chat, f"Tom-{mark}"), entity(chat, f"Ann-{mark}")
    Arc.objects.create(**common, text=f"thread {mark}")
    LedgerEntry.objects.create(**common, entity=tom, field="place", value=f"home {mark}")
    Knowledge.objects.create(**common, subject=tom, kind="knows", text=f"secret {mark}")
    Relationship.objects.create(**common, subject=tom, target=ann, descriptor=f"trust {mark}", magnitude="medium")


@pytest.mark.parametrize("tab", ["arcs", "ledger", "knowledge", "relationships", "names"])
def test_what_was_derived_without_a_model_is_folded_as_a_guess(site: Client, chat: Chat, tab: str) -> None:
    derive(chat, run_of(chat, "builtin"), "guessed")
    derive(chat, run_of(chat, "openai"), "read")
    html = site.get(reverse(f"memories:book-{tab}", args=[chat.pk])).content.decode()
    sure, _, guesses = html.partition(FOLD)
    assert "guessed" not in sure.partition("<datalist")[0]
    assert "guessed" in guesses
    assert "read" in sure
    assert "rough guess" in guesses


def test_a_guess_that_somebody_edited_is_no_guess_any_more(site: Client, chat: Chat) -> None:
    derive(chat, run_of(chat, "builtin"), "guessed")
    Arc.objects.for_owner(chat.owner_id).update(edited_by="alice")
    assert FOLD not in site.get(reverse("memories:book-arcs", args=[chat.pk])).content.decode()


@pytest.mark.parametrize("names", [("Ione", "Ione Tarrow"), ("Ione Tarrow", "Ione")], ids=str)
def test_a_first_name_is_the_only_person_of_the_chat_with_it(chat: Chat, names: tuple[str, str]) -> None:
    first = entity(chat, names[0])
    make_memory(chat, "She waits.").entities.add(first)
    again = get_or_create_entity(chat, names[1], "unknown")
    assert again == first
    assert (again.name, again.aliases) == (names[0], [names[1]])
    assert entity(chat, names[1]) == first


def test_a_first_name_that_two_have_or_a_title_or_a_place_is_nobodys_alias(chat: Chat) -> None:
    known = [entity(chat, name) for name in ("Ann Hale", "Ann Marsh", "Captain Orlo")]
    known.append(entity(chat, "Salt Road", "place"))
    make_memory(chat, "They are there.").entities.add(*known)
    assert {entity(chat, name).pk for name in ("Ann", "Captain", "Salt")}.isdisjoint(row.pk for row in known)


def test_a_name_of_another_chat_of_the_character_is_not_taken_for_the_same_person(chat: Chat) -> None:
    other = make_chat(chat.owner, "Hello.", character=chat.character)
    make_memory(other, "She waits.").entities.add(entity(other, "Ione Tarrow"))
    assert entity(chat, "Ione").name == "Ione"


@pytest.mark.parametrize(("backend", "is_told"), [("builtin", True), ("openai", False)])
def test_a_profile_a_summary_and_a_scene_without_a_model_say_so(
    site: Client, chat: Chat, backend: str, is_told: bool
) -> None:
    run = run_of(chat, backend)
    common = {"owner": chat.owner, "chat": chat, "run": run}
    first = chat.messages.get(index=0)
    VersionedText.objects.create(**common, kind="summary", text="They met.", source=first)
    VersionedText.objects.create(
        **common, character=chat.character, kind="profile", document={"world_state": "A quay."}
    )
    Scene.objects.create(**common, source=first, recap="They met.")
    story, scenes = (site.get(reverse(f"memories:book-{tab}", args=[chat.pk])).content.decode() for tab in PAGES)
    assert story.count("Read from single sentences by rules") == 2 * is_told
    assert ("detected?" in scenes) == is_told
    assert "They met." in story
    assert "They met." in scenes


def test_a_model_is_told_which_entries_are_guesses(chat: Chat) -> None:
    derive(chat, run_of(chat, "builtin"), "guessed")
    derive(chat, run_of(chat, "openai"), "read")
    turn = find_turn(chat, "Where is Tom?", None)
    for name in ("arcs", "state_ledger", "relationships"):
        lines = {entry.written for entry in LAYERS[name](turn, chat.character)}
        assert {("guessed" in line, "(unsure)" in line) for line in lines} == {(True, True), (False, False)}
    Arc.objects.for_owner(chat.owner).update(edited_by="alice@example.com")
    assert "(unsure)" not in "".join(entry.written for entry in LAYERS["arcs"](turn, chat.character))


def test_exports_tell_guesses(site: Client, chat: Chat) -> None:
    builtin = run_of(chat, "builtin")
    derive(chat, builtin, "guessed")
    derive(chat, run_of(chat, "openai"), "read")
    address = f"/api/v1/chats/{chat.pk}/"
    arcs = {arc["text"]: arc["run"] for arc in site.get(f"{address}memory-export/").json()["arcs"]}
    assert (arcs["thread guessed"], len(set(arcs.values()))) == (str(builtin.pk), 2)
    text = site.get(f"{address}memories/export/", {"format": "markdown"}).content.decode()
    assert "thread guessed (unsure)" in text
    assert "thread read\n" in text
