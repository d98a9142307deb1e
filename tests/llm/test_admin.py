"""Admin pages: operators see usage and set limits, and never see keys."""

import pytest
from django.test import Client, override_settings
from django.urls import reverse

from apps.accounts.models import User
from apps.llm.models import TokenLimit
from apps.llm.operations import record_usage, set_daily_limit
from apps.llm.usage.limits import effective_limit
from tests.llm.conftest import KEY


@pytest.fixture
def operator(db: None, client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root@example.com", "operator-pass-1"))
    return client


def test_an_operator_sees_usage_and_changes_none_of_it(operator: Client, alice, connect):
    connect()
    record_usage(alice, "scripted-small", 3, 4)
    page = operator.get(reverse("admin:llm_usage_changelist"))
    assert (page.status_code, alice.email in page.content.decode()) == (200, True)
    assert operator.get(reverse("admin:llm_usage_add")).status_code == 403
    index = operator.get(reverse("admin:index")).content.decode()
    assert "onnection" not in index
    assert KEY not in index


def test_an_operator_grants_a_limit_which_the_user_can_only_lower(operator: Client, alice):
    add = reverse("admin:llm_tokenlimit_add")
    assert operator.get(add).status_code == 200
    assert operator.post(add, {"owner": alice.pk, "daily_tokens": 500}).status_code == 302
    limit = TokenLimit.objects.for_owner(alice).get()
    again = operator.post(add, {"owner": alice.pk, "daily_tokens": 5})
    assert (again.status_code, TokenLimit.objects.for_owner(alice).count()) == (200, 1)
    set_daily_limit(alice, 10**9)
    assert effective_limit(alice) == 500
    change = reverse("admin:llm_tokenlimit_change", args=[limit.pk])
    assert operator.post(change, {"daily_tokens": "", "own_daily_tokens": 1}).status_code == 302
    with override_settings(LLM_DAILY_TOKENS=700):
        assert effective_limit(alice) == 700
    assert alice.email in operator.get(reverse("admin:llm_tokenlimit_changelist")).content.decode()
