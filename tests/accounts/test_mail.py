"""Mail to users says that it comes from Loci, and is spoken of only where it is delivered."""

import pytest
from django.core import mail
from django.test import Client, override_settings

from tests.factories import UserFactory


@pytest.mark.django_db
def test_mail_comes_from_loci_by_name() -> None:
    alice = UserFactory()
    Client().post("/accounts/password/reset/", {"email": alice.email})
    [message] = mail.outbox
    assert message.from_email == "Loci <loci@localhost>"
    assert message.subject.startswith("[Loci] ")
    assert message.body.startswith("Hello from Loci!")
    assert "/accounts/password/reset/key/" in message.body


@pytest.mark.django_db
@pytest.mark.parametrize("verification", [None, "optional"])
def test_who_signs_up_is_told_of_a_mail_only_where_there_is_a_mail_server(verification: str | None) -> None:
    form = {"email": "alice@example.com", "password1": "blue-stone-1987", "password2": "blue-stone-1987"}
    with override_settings(**{"ACCOUNT_EMAIL_VERIFICATION": verification} if verification else {}):
        page = Client().post("/accounts/signup/", form, follow=True).content.decode()
    assert "Welcome to Loci" in page
    assert ("We sent a link" in page) == (len(mail.outbox) == 1) == (verification is not None)
