"""Tables can be partitioned by owner, except for those that say why not; the page of operators names these."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.core.checks import run_checks
from django.db import IntegrityError, connection, models, transaction
from django.test.utils import isolate_apps

from apps.chats.models import ChatChange
from apps.chats.operations import append_messages
from apps.common.database.restriction import restricted_to
from apps.common.ownership import partitioning
from apps.common.ownership.partitioning import check_owners, keys_without_owner, tables_without_owner
from apps.common.scoping import OwnedModel
from config.env import ROOT
from tests.factories import UserFactory, make_chat, parsed

SCALING = (ROOT / "docs" / "scaling.md").read_text()


def test_each_table_has_an_owner_in_each_key_or_says_why_not() -> None:
    assert [message for message in run_checks() if message.id and message.id.startswith("common.")] == []


@isolate_apps("apps.common")
def test_what_lacks_an_owner_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shared(models.Model):  # noqa: DJ008
        name = models.CharField(max_length=10)

        class Meta:
            app_label = "common"

    class Owned(OwnedModel):
        name = models.CharField(max_length=10, unique=True)

        class Meta:
            app_label = "common"
            constraints = [
                models.UniqueConstraint("owner", models.functions.Lower("name"), name="name_of_owner"),
                models.UniqueConstraint(models.functions.Lower("name"), name="name_of_all"),
            ]

    class Part(OwnedModel):
        whole = models.OneToOneField(Owned, on_delete=models.CASCADE)

        class Meta:
            app_label = "common"

    def own(*, owned: bool) -> Iterator[Any]:
        yield from (Owned, Part) if owned else (Shared,)

    monkeypatch.setattr(partitioning, "_product_models", own)
    found = [(message.id, message.obj) for message in check_owners(None)]
    assert found == [("common.E001", Shared), ("common.E002", Owned), ("common.E002", Owned)]
    assert list(keys_without_owner(Owned)) == ["name", "name_of_all"]


def test_the_exceptions_stand_in_the_documentation_with_their_reasons() -> None:
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (.+?) \|$", SCALING, re.MULTILINE))
    exceptions = tables_without_owner()
    for model in apps.get_models():
        for key, reason in getattr(model, "KEYS_WITHOUT_OWNER", {}).items():
            exceptions[f"{model._meta.db_table}.{key}"] = reason
    assert {name: reason for name, reason in rows.items() if name in exceptions} == exceptions
    assert all(exceptions.values())


def documented_statements() -> str:
    block = re.search(r"```sql\n(-- The log of changes\n.*?)```", SCALING, re.DOTALL)
    assert block is not None
    return block[1]


@pytest.mark.django_db
def test_the_statements_of_the_documentation_partition_a_table() -> None:
    owners = [UserFactory() for _ in range(3)]
    chats = [make_chat(owner, "Where is the key?", "Under the stone.") for owner in owners]
    before = [ChatChange.objects.for_owner(owner).count() for owner in owners]
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(documented_statements())
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'chats_chatchange'::regclass"
        )
        partitions = [name for (name,) in cursor.fetchall()]
        assert len(partitions) == 16
        cursor.execute("EXPLAIN SELECT id FROM chats_chatchange WHERE owner_id = %s", [owners[0].pk])
        assert len(re.findall(r"on chats_chatchange_\d+", "\n".join(row[0] for row in cursor.fetchall()))) == 1
    assert [ChatChange.objects.for_owner(owner).count() for owner in owners] == before
    append_messages(owners[0], chats[0].pk, [parsed("I have it.")])
    with restricted_to(owners[0].pk), connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT owner_id FROM chats_chatchange")
        assert cursor.fetchall() == [(owners[0].pk,)]
        for name in partitions:
            cursor.execute(f"SELECT count(*) FROM {name}")
            assert cursor.fetchone() == (0,)
    change = ChatChange.objects.for_owner(owners[0]).first()
    assert change is not None
    change.pk, change.integrity = uuid4(), uuid4()
    with pytest.raises(IntegrityError, match="chat_id, rev"), transaction.atomic():
        change.save(force_insert=True)
