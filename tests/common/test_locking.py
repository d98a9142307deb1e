"""Rows that are created where they are missing, and locked."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from apps.accounts.models import ApiToken, User
from apps.common.database.rows import get_or_create_locked

DEFAULTS = {"digest": ApiToken.new_secret}  # which is called for each new row


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice@example.com")


def test_a_row_is_created_once_and_found_afterwards(alice: User) -> None:
    tokens = ApiToken.objects.for_owner(alice)
    with transaction.atomic():
        first, created = get_or_create_locked(tokens, owner_id=alice.pk, name="phone", defaults=DEFAULTS)
        again, created_again = get_or_create_locked(tokens, owner_id=alice.pk, name="phone", defaults=DEFAULTS)
    assert first == again
    assert (created, created_again) == (True, False)


@pytest.mark.parametrize(
    "replace", [lambda tokens: tokens.delete(), lambda tokens: tokens.update(name="old phone")], ids=["gone", "changed"]
)
def test_a_row_that_is_replaced_before_it_is_locked_is_looked_up_again(
    alice: User, monkeypatch: pytest.MonkeyPatch, replace: Callable[[Any], Any]
) -> None:
    tokens = ApiToken.objects.for_owner(alice)
    get_or_create, found = tokens.get_or_create, []

    def and_replace_the_first(**lookup: Any) -> tuple[ApiToken, bool]:
        found.append(get_or_create(**lookup))
        if len(found) == 1:
            replace(tokens.all())
        return found[-1]

    monkeypatch.setattr(tokens, "get_or_create", and_replace_the_first)
    with transaction.atomic():
        locked, _ = get_or_create_locked(tokens, owner_id=alice.pk, name="phone", defaults=DEFAULTS)
    assert locked == found[1][0] != found[0][0]
    assert locked.name == "phone"
