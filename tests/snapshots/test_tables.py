"""Every owned table is in an archive, or on the list of those that are left out."""

import pytest
from django.apps import apps
from django.db import models

from apps.chats.models import Chat
from apps.common.scoping import OwnedModel
from apps.snapshots.references import references
from apps.snapshots.tables import BESIDE_CHAT, LEFT_OUT, OF_CHAT, RELATIONS, account_labels

OWNED = [model for model in apps.get_models() if issubclass(model, OwnedModel)]


def test_what_is_left_out_exists_and_has_a_reason() -> None:
    assert set(LEFT_OUT) <= {model._meta.label for model in OWNED}
    assert all(LEFT_OUT.values())
    assert not set(LEFT_OUT) & set(account_labels())


def test_relations_of_owned_tables_are_archived() -> None:
    automatic = [model for model in apps.get_models(include_auto_created=True) if model._meta.auto_created]
    related = {
        model._meta.label
        for model in automatic
        if all(
            issubclass(field.related_model, OwnedModel)
            for field in model._meta.concrete_fields
            if isinstance(field, models.ForeignKey)
        )
    }
    assert related == set(RELATIONS)


@pytest.mark.parametrize("model", OWNED, ids=lambda model: model._meta.label)
def test_what_belongs_to_a_chat_is_in_its_archive(model: type[models.Model]) -> None:
    """A table with a reference to a chat, or that is deleted with a row of a chat, is part of it."""
    label = model._meta.label
    keys = [field for field in model._meta.concrete_fields if isinstance(field, models.ForeignKey)]
    of_chat = any(key.related_model is Chat and key.name == "chat" for key in keys)
    belongs = any(
        key.related_model._meta.label in OF_CHAT and key.remote_field.on_delete is models.CASCADE for key in keys
    )
    if (of_chat or belongs) and label not in LEFT_OUT:
        assert label in OF_CHAT or label in BESIDE_CHAT


def test_files_are_in_no_archive() -> None:
    """A path that an archive names would be a path of the server."""
    for label in account_labels():
        fields = apps.get_model(label)._meta.concrete_fields
        assert not any(isinstance(field, models.FileField) for field in fields), label


def test_all_references_between_owned_rows_are_settled() -> None:
    found = {(reference.table, reference.column) for reference in references()}
    assert ("memories_memory_entities", "entity_id") in found
    for model in OWNED:
        for field in model._meta.concrete_fields:
            if isinstance(field, models.ForeignKey) and issubclass(field.related_model, OwnedModel):
                assert (model._meta.db_table, field.column) in found
                assert field.remote_field.on_delete in (models.CASCADE, models.SET_NULL)
