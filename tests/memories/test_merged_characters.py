"""Two characters that are one: everything of both belongs to the one that stays."""

from typing import Any

import pytest
from django.apps import apps
from django.test import Client

from apps.accounts.models import User
from apps.chats import operations
from apps.chats.models import Character, Chat
from apps.chats.queries import image_of, lorebook_of
from apps.common.problems import Invalid
from apps.extraction.models import MemorySettings
from apps.extraction.settings.stores import change_settings
from apps.memories.models import Arc, Entity, LedgerEntry, Memory, Relationship, VersionedText
from tests.factories import UserFactory, make_character, make_chat, make_memory

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return UserFactory()


@pytest.fixture
def gone(alice: User) -> Character:
    return make_character(alice)


@pytest.fixture
def kept(alice: User) -> Character:
    return make_character(alice)


def entity(character: Character, name: str, **fields: Any) -> Entity:
    return Entity.objects.create(owner_id=character.owner_id, character=character, name=name, **fields)


def fill(character: Character) -> dict[str, Any]:
    """A row of every kind that belongs to a character."""
    chat, deleted = (make_chat(character.owner, "Hello.", character=character) for _ in range(2))
    memory = make_memory(chat, "Mira lost the key.")
    in_bin = make_memory(deleted, "Mira left.")
    names = [entity(character, "Mira"), entity(character, f"only {character.pk}")]
    memory.entities.set(names)
    own = {"owner_id": character.owner_id, "chat": chat}
    LedgerEntry.objects.create(**own, entity=names[0], field="mood", value="calm")
    Relationship.objects.create(**own, subject=names[0], target=names[1], descriptor="warm")
    Arc.objects.create(**own, character=character, text="Find the key.")
    change_settings(character.owner, {"long_term": False}, character=character)
    operations.delete_chat(deleted)
    return {"chat": chat, "deleted": deleted, "memory": memory, "in_bin": in_bin}


def test_every_row_of_both_belongs_to_the_one_that_stays(gone: Character, kept: Character) -> None:
    """Whatever table refers to a character in the future is part of this too."""
    rows, _ = fill(gone), fill(kept)
    group = make_chat(gone.owner)
    for character in (gone, kept):
        profile = {"owner_id": gone.owner_id, "kind": VersionedText.Kind.PROFILE, "chat": group}
        VersionedText.objects.create(**profile, character=character, text="A guide.")
    before = {model: model._base_manager.count() for model in apps.get_models()}
    gone_id = gone.pk
    operations.merge_characters(gone, kept)
    for relation in Character._meta.related_objects:
        assert not relation.related_model._base_manager.filter(**{relation.field.name: gone_id}).exists(), relation
    after = {model: model._base_manager.count() for model in apps.get_models()}
    fewer = {model.__name__: before[model] - after[model] for model in before if before[model] != after[model]}
    assert fewer == {"Character": 1, "Entity": 1, "MemorySettings": 1}
    for name in ("chat", "deleted"):
        rows[name].refresh_from_db()
        assert rows[name].character_id == kept.pk
    assert Memory.with_bin.for_owner(kept.owner_id).filter(character=kept).count() == 4
    current = VersionedText.objects.for_owner(kept.owner_id).filter(state="current")
    assert [text.character_id for text in current] == [kept.pk]


def test_names_of_both_registries_are_one_and_keep_what_refers_to_them(gone: Character, kept: Character) -> None:
    rows = fill(gone)
    mira = entity(kept, "MIRA", aliases=["the guide"])
    only = f"only {gone.pk}"
    operations.merge_characters(gone, kept)
    assert {item.name for item in rows["memory"].entities.all()} == {"MIRA", only}
    assert LedgerEntry.objects.for_owner(kept.owner_id).get().entity == mira
    mira.refresh_from_db()
    assert mira.aliases == ["the guide", "Mira"]


def test_settings_picture_and_lorebook_go_where_there_are_none(alice: User, gone: Character, kept: Character) -> None:
    change_settings(alice, {"long_term": False}, character=gone)
    operations.set_character_image(gone, b"picture", "image/png")
    book = operations.create_lorebook(alice, name="Book", character=gone)
    operations.merge_characters(gone, kept)
    assert MemorySettings.objects.for_owner(alice).get().character == kept
    image = image_of(kept)
    assert image is not None
    assert bytes(image.content) == b"picture"
    assert lorebook_of(kept) == book


def test_a_second_lorebook_is_not_lost(alice: User, gone: Character, kept: Character) -> None:
    book, second = (operations.create_lorebook(alice, name="Book", character=each) for each in (kept, gone))
    operations.merge_characters(gone, kept)
    second.refresh_from_db()
    assert (lorebook_of(kept), second.character) == (book, None)


def test_a_character_is_not_merged_with_itself_or_with_a_strangers(gone: Character) -> None:
    for other in (gone, make_character(UserFactory())):
        with pytest.raises(Invalid):
            operations.merge_characters(gone, other)


def test_the_page_merges_once_the_name_is_typed(alice: User, gone: Character, kept: Character) -> None:
    chat = make_chat(alice, "Hello.", character=gone)
    make_character(alice, "Ione")
    site = Client()
    site.force_login(alice)
    assert "Merge them" in site.get(f"/characters/{gone.pk}/").content.decode()
    url = f"/characters/{gone.pk}/merge/"
    assert site.get(url).status_code == 200
    assert site.post(url, {"into": kept.pk, "name": "Miro"}).status_code == 400
    assert site.post(url, {"into": make_character(UserFactory()).pk, "name": "Mira"}).status_code == 400
    assert site.post(url, {"into": kept.pk, "name": "Mira"})["Location"] == f"/characters/{kept.pk}/"
    assert Chat.objects.for_owner(alice).get(pk=chat.pk).character == kept
