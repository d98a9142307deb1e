"""Merging entities and taking it back, and splitting one in two."""

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.chats.models import Chat
from apps.memories.models import Entity, EntityMerge, Knowledge, LedgerEntry, Memory, Relationship
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.knowledge import create_knowledge
from apps.memories.operations.ledger import set_field_by_hand
from apps.memories.operations.relationships import set_relationship
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_character, make_chat, make_memory

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> APIClient:
    return client_of(UserFactory())


@pytest.fixture
def chat(api: APIClient) -> Chat:
    return make_chat(api.user, "Where is Tom?", "Away.", character=make_character(api.user, "Mira"))


def remember(chat: Chat, text: str, *names: str) -> Memory:
    memory = make_memory(chat, text)
    memory.entities.set([get_or_create_entity(chat, name) for name in names])
    return memory


def everything(chat: Chat) -> dict[str, Any]:
    """Return all that refers to entities, by names."""
    owner = chat.owner_id
    links = Memory.objects.for_owner(owner).values_list("text", "entities__name")
    return {
        "entities": {row.name: (row.pk, row.kind, row.aliases) for row in Entity.objects.for_owner(owner)},
        "links": sorted(links, key=str),
        "ledger": sorted(LedgerEntry.objects.for_owner(owner).values_list("pk", "entity__name", "value", "state")),
        "knowledge": sorted(Knowledge.objects.for_owner(owner).values_list("pk", "subject__name", "text")),
        "relationships": sorted(
            Relationship.objects.for_owner(owner).values_list(
                "pk", "subject__name", "target__name", "descriptor", "state", "source"
            )
        ),
    }


def fill(chat: Chat) -> tuple[Entity, Entity]:
    """Return Tom and Thomas, with rows of all layers, some of which a merge replaces or deletes."""
    tom, thomas = (
        get_or_create_entity(chat, name, kind) for name, kind in (("Tom", "unknown"), ("Thomas", "character"))
    )
    remember(chat, "Tom fishes.", "Tom")
    remember(chat, "Thomas and Tom are the same.", "Tom", "Thomas")
    remember(chat, "Thomas sings.", "Thomas")
    for name in ("Tom", "Thomas"):
        set_field_by_hand(chat, name, "character", "mood", f"mood of {name}", editor="Alice")
        set_relationship(chat, "Mira", name, "warm", "high", editor="Alice")
    set_relationship(chat, "Tom", "Thomas", "wary", "low", editor="Alice")
    create_knowledge(chat, "knows", "Thomas", "where the key is", editor="Alice")
    return tom, thomas


def test_a_merge_is_taken_back_whole(api: APIClient, chat: Chat) -> None:
    tom, thomas = fill(chat)
    before = everything(chat)
    reply = api.post(f"/api/v1/entities/{thomas.pk}/merge/", {"into": str(tom.pk)}, format="json")
    assert (reply.data["name"], reply.data["aliases"], reply.data["kind"]) == ("Tom", ["Thomas"], "character")
    merged = everything(chat)
    assert "Thomas" not in merged["entities"]
    assert ("Thomas sings.", "Tom") in merged["links"]
    undone = api.post(f"/api/v1/entities/{tom.pk}/unmerge/")
    assert (undone.status_code, undone.data["id"], undone.data["name"]) == (201, str(thomas.pk), "Thomas")
    assert everything(chat) == before
    assert api.post(f"/api/v1/entities/{tom.pk}/unmerge/").status_code == 404


def test_what_was_changed_since_a_merge_stays(api: APIClient, chat: Chat) -> None:
    tom, thomas = fill(chat)
    api.post(f"/api/v1/entities/{thomas.pk}/merge/", {"into": str(tom.pk)}, format="json")
    later = remember(chat, "Thomas snores.", "Thomas")
    assert later.entity_names == ["Tom"]
    Memory.objects.for_owner(api.user).get(text="Thomas sings.").entities.clear()
    tom.refresh_from_db()
    api.patch(f"/api/v1/entities/{tom.pk}/", {"aliases": [*tom.aliases, "Tommy"]}, format="json")
    Relationship.objects.for_owner(api.user).filter(target=tom).delete()
    assert api.post(f"/api/v1/entities/{tom.pk}/unmerge/").status_code == 201
    tom.refresh_from_db()
    assert tom.aliases == ["Tommy"]
    links = dict(everything(chat)["links"])
    assert (links["Thomas snores."], links["Thomas sings."]) == ("Tom", None)


def test_a_merge_is_not_taken_back_where_the_name_is_taken(api: APIClient, chat: Chat) -> None:
    tom, thomas = fill(chat)
    api.post(f"/api/v1/entities/{thomas.pk}/merge/", {"into": str(tom.pk)}, format="json")
    api.patch(f"/api/v1/entities/{tom.pk}/", {"aliases": []}, format="json")
    get_or_create_entity(chat, "Thomas")
    assert api.post(f"/api/v1/entities/{tom.pk}/unmerge/").status_code == 409
    assert EntityMerge.objects.for_owner(api.user).count() == 1


def test_an_entity_is_split_and_the_parts_merged_again(api: APIClient, chat: Chat) -> None:
    tom, _ = fill(chat)
    api.patch(f"/api/v1/entities/{tom.pk}/", {"aliases": ["Tommy", "Old Tom"]}, format="json")
    memory = Memory.objects.for_owner(api.user).get(text="Tom fishes.")
    body = {"name": "Tom the elder", "aliases": ["Old Tom"], "memories": [str(memory.pk)]}
    url = f"/api/v1/entities/{tom.pk}/split/"
    reply = api.post(url, body, format="json")
    assert (reply.status_code, reply.data["aliases"]) == (201, ["Old Tom"])
    tom.refresh_from_db()
    assert (tom.aliases, memory.entity_names) == (["Tommy"], ["Tom the elder"])
    assert get_or_create_entity(chat, "Old Tom").name == "Tom the elder"
    for wrong, pointer in (
        ({"name": "thomas"}, "/name"),
        ({"name": "X", "aliases": ["Nobody"]}, "/aliases"),
        ({"name": "X"}, "/memories"),
    ):
        refused = api.post(url, {**body, "aliases": [], **wrong}, format="json")
        assert (refused.status_code, refused.data["errors"][0]["pointer"]) == (400, pointer)
    api.post(f"/api/v1/entities/{reply.data['id']}/merge/", {"into": str(tom.pk)}, format="json")
    assert memory.entities.get() == tom


def test_others_can_neither_take_back_nor_split(api: APIClient, chat: Chat, client: Client) -> None:
    tom, thomas = fill(chat)
    api.post(f"/api/v1/entities/{thomas.pk}/merge/", {"into": str(tom.pk)}, format="json")
    stranger = client_of(UserFactory())
    assert stranger.post(f"/api/v1/entities/{tom.pk}/unmerge/").status_code == 404
    assert stranger.post(f"/api/v1/entities/{tom.pk}/split/", {}, format="json").status_code == 404
    client.force_login(stranger.user)
    merge = EntityMerge.objects.for_owner(api.user).get()
    assert client.post(f"/memories/entities/merges/{merge.pk}/undo/").status_code == 404
    assert client.get(f"/memories/entities/{tom.pk}/split/").status_code == 404


def test_the_pages_take_a_merge_back_and_split(chat: Chat, client: Client) -> None:
    tom, thomas = fill(chat)
    client.force_login(chat.owner)
    client.post(f"/memories/entities/{thomas.pk}/merge/", {"into": str(tom.pk)})
    merge = EntityMerge.objects.for_owner(chat.owner_id).get()
    assert "Take it out again" in client.get(f"/memories/entities/{tom.pk}/").content.decode()
    page = client.post(f"/memories/entities/merges/{merge.pk}/undo/", follow=True).content.decode()
    assert "Thomas is a name of its own again." in page
    memory = Memory.objects.for_owner(chat.owner_id).get(text="Tom fishes.")
    url = f"/memories/entities/{tom.pk}/split/"
    assert "Tom fishes." in client.get(url).content.decode()
    assert client.post(url, {"name": "Tom the elder", "kind": "character"}).status_code == 400
    split = {"name": "Tom the elder", "kind": "character", "memories": [str(memory.pk)]}
    assert "Tom the elder is a name of its own now." in client.post(url, split, follow=True).content.decode()
    assert client.post(url, {**split, "name": "Thomas"}).status_code == 400


@pytest.mark.parametrize(
    ("alias", "said"), [("Tommy", "tommy"), ("Élise", "ÉLISE"), ("null", "Null"), ('"T", \\x', '"t", \\X')]
)
def test_an_alias_is_found_in_any_case_as_a_name_is(chat: Chat, alias: str, said: str) -> None:
    tom = get_or_create_entity(chat, "Tom")
    Entity.objects.for_owner(chat.owner_id).filter(pk=tom.pk).update(aliases=["Thomas", alias])
    assert get_or_create_entity(chat, said).pk == tom.pk
    assert get_or_create_entity(chat, "Elise").pk != tom.pk
