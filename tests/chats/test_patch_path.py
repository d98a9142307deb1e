"""A patch of a message takes a short way from the view to the commit."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from django.test import Client

import apps.chats
from tests.factories import UserFactory, make_chat

APPS = f"{Path(apps.chats.__file__).parent.parent}/"
VIEW = "sync/api/views.py"
MOST = 18  # modules
# The database's connection and its router, which every statement passes, as it passes Django's own; and what calls a
# receiver of a signal.
CONNECTION = ("common/database/postgresql/base.py", "common/database/restriction.py", "common/database/replica.py")
PASSED = (*CONNECTION, "common/on_demand.py")


@contextmanager
def entered_modules() -> Iterator[list[str]]:
    """Collect the modules below ``apps`` whose functions the view calls until it returns, itself included."""
    entered: list[str] = []
    views: list[FrameType] = []

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        path = frame.f_code.co_filename
        if not path.startswith(APPS) or frame.f_code.co_name == "<module>":
            return
        module = path.removeprefix(APPS)
        if event == "call" and module == VIEW and not entered:
            views.append(frame)
        if event == "call" and views and module not in (*entered, *PASSED):
            entered.append(module)
        if event == "return" and views and frame is views[0]:
            views.clear()

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield entered
    finally:
        sys.setprofile(before)


@pytest.mark.django_db(transaction=True)  # the way ends with what happens on commit
def test_a_patch_crosses_few_modules():
    alice = UserFactory()
    chat = make_chat(alice, "The gate is open.")
    client = Client()
    client.force_login(alice)

    def patch(text: str, integrity: Any) -> Any:
        body = {"integrity": str(integrity), "patches": [{"index": 0, "set": {"mes": text}}]}
        reply = client.post(f"/api/v1/chats/{chat.pk}/patch/", json.dumps(body), content_type="application/json")
        assert reply.status_code == 200
        return reply.json()["integrity"]

    integrity = patch("The gate is shut.", chat.integrity)  # what is set up at the first request doesn't count
    with entered_modules() as modules:
        patch("The gate is barred.", integrity)
    print(len(modules), *modules, sep="\n")  # shown on failure
    assert VIEW in modules
    assert len(modules) <= MOST
