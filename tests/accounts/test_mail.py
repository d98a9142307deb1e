"""Mail to users says that it comes from Loci."""

import pytest
from django.core import mail
from django.test import Client

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
