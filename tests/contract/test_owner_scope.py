"""Nobody gets at what is somebody else's: every route with an id is asked with another user's ids."""

import datetime as dt
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.locking import Guard
from apps.chats.models import Chat, ImportJob, Message
from apps.chats.operations import (
    Patch,
    add_image,
    add_participant,
    append_messages,
    create_character,
    create_chat,
    create_lorebook,
    create_persona,
    delete_chat,
    patch_messages,
    set_character_image,
    set_persona_avatar,
)
from apps.common.scoping import UnscopedQuery, system_scope
from apps.extraction.models import ExtractionRun, ModelTest
from apps.instances.models import Conflict, Item
from apps.instances.operations.registration import register
from apps.journal.entries import merge_daily
from apps.llm.browser.calls import create_call
from apps.llm.generation import GenerationRequest
from apps.llm.operations import create_connection
from apps.mem0.models import Mem0Event
from apps.memories.models import (
    Arc,
    EntityMerge,
    Knowledge,
    LedgerEntry,
    Memory,
    Question,
    Relationship,
    Scene,
    VersionedText,
)
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.entity_merges import merge_entities
from apps.moderation.models import Case, Notice, Report
from apps.prompts.models import Recall
from apps.proxy.models import ProxiedChat
from apps.replies.models import Generation
from apps.replies.presets import create_preset
from apps.snapshots.storing import store_snapshot
from apps.snapshots.tables import SnapshotScope
from apps.webhooks.models import Webhook
from tests.contract.conftest import client_of
from tests.contract.test_sync import parsed_message
from tests.database import stored_for_a_module
from tests.exchange.cards_made import png
from tests.lanes import further

NOTHING = (404, 405)
METHODS = ("get", "post", "put", "patch", "delete")
# Other projects' pages, and static files, which have no owner.
ELSEWHERE = ("admin/", "accounts/", "static/")
BIN_ROUTES = ("chats/<uuid:chat_id>/restore/", "chats/<uuid:chat_id>/purge/")
OF_CHAT = (
    "chat_id", "message_id", "memory_id", "run_id", "participant_id", "scene_id", "arc_id", "knowledge_id", "entry_id",
    "word_id", "found_scene_id", "version_id", "image_key", "generation_id",
)  # fmt: skip
TASK = "<slug:task>"  # names a task of ours, of which everybody has a template
OF_FILE = (
    "<slug:category>/<str:filename>",
    "<str:kind>/<path:name>",
)  # names of an identity file, or of an end user, which everybody may use
# The name of an action on chats, which the body names, and the id of an action that is kept in one's own session.
OF_SESSION = ("<str:action>", "<uuid:undo_id>", "<uuid:change_id>")


def routes(resolver: URLResolver, prefix: str = "") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern, path)
        elif isinstance(pattern, URLPattern):
            yield path


def routes_with_ids() -> list[str]:
    found = sorted(set(routes(get_resolver())))
    no_ids = (TASK, *OF_FILE, *OF_SESSION)
    return [
        route
        for route in found
        if "<" in route and not route.startswith(ELSEWHERE) and not any(part in route for part in no_ids)
    ]


@pytest.fixture(scope="module")
def stored_once(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, Any]]:
    """What `alices` names, stored once for all tests, each of which undoes what it has changed."""
    with stored_for_a_module(django_db_blocker):
        yield things_of_alice()


@pytest.fixture
def alices(stored_once: dict[str, Any], db: None) -> dict[str, Any]:
    """The ids of one thing of each kind that is Alice's, by the name that routes give them."""
    return stored_once


def things_of_alice() -> dict[str, Any]:
    alice = User.objects.create_user("alice@example.com")
    character = create_character(alice, name="Mira")
    chat = create_chat(alice, title="Hers", character=character)
    turn = append_messages(alice, chat.pk, [parsed_message("Where is the key?", is_user=True)]).messages[0]
    data = {"auto_recap_memory": {"scene_break": True, "memory": "A key is missing."}}
    patched = patch_messages(alice, chat.pk, [Patch(id=turn.pk, extra=data)], Guard(optional=True, writer="hers"))
    memory = Memory.objects.create(
        owner_id=alice.pk, chat=chat, character=character, tier="long_term", kind="fact", text="The key is hidden."
    )
    other = Memory.objects.create(
        owner_id=alice.pk, character=character, tier="long_term", kind="fact", text="The key is lost."
    )
    question = Question.objects.create(owner_id=alice.pk, chat=chat, first=other, second=memory)
    shared = Item.objects.create(owner_id=alice.pk, kind="memory", tier="long_term", target=memory.pk, position=1)
    run = ExtractionRun.objects.create(owner_id=alice.pk, chat=chat)
    Recall.objects.create(owner_id=alice.pk, chat=chat, message=turn, text="x", turn_hash="x")
    ProxiedChat.objects.create(owner_id=alice.pk, chat=chat, opening=1, fingerprints=[1])
    set_character_image(character, png(), "image/png")
    book = create_lorebook(alice, name="Hers", character=character)
    persona = create_persona(alice, name="Alicia")
    avatar = set_persona_avatar(persona, png())
    participant = add_participant(alice, chat.pk, name="Mira", character=character)
    token, _ = create_token(alice, name="hers")
    mira, salt = get_or_create_entity(chat, "Mira", "character"), get_or_create_entity(chat, "Salt", "character")
    merge_entities(get_or_create_entity(chat, "Mirror"), mira)
    told = {"owner_id": alice.pk, "chat": chat, "source": turn}
    knowledge = Knowledge.objects.create(**told, kind="knows", subject=mira, text="Where the key is.")
    word = Relationship.objects.create(**told, subject=mira, target=salt, descriptor="wary")
    case = Case.objects.create(
        owner_id=alice.pk,
        kind="message",
        target_id=turn.pk,
        chat_id=chat.pk,
        state="decided",
        decision="hide",
        decided_at=timezone.now(),
    )
    Report.objects.create(owner_id=alice.pk, case=case, reason="other")
    notice = Notice.objects.create(owner_id=alice.pk, case=case, decision="hide", text="It is hidden.")
    webhook = Webhook.objects.create(owner_id=alice.pk, url="https://example.com/", events=["memory.added"])
    in_browser = create_connection(alice, name="here", backend="browser")
    return {
        "user": alice,
        "chat_id": chat.pk,
        "message_id": turn.pk,
        "memory_id": memory.pk,
        "question_id": question.pk,
        "run_id": run.pk,
        "instance_id": register(alice, "hers").name_id,
        "conflict_id": Conflict.objects.create(owner_id=alice.pk, item=shared, ours="x", theirs="y").pk,
        "participant_id": participant.pk,
        "scene_id": turn.pk,
        "job_id": ImportJob.objects.create(owner_id=alice.pk, filename="hers.jsonl").pk,
        "namespace": "auto_recap_memory",
        "key": "memory",
        "event_id": Mem0Event.objects.create(owner_id=alice.pk, chat=chat, run=run).pk,
        "token_id": token.pk,
        "test_id": ModelTest.objects.create(owner_id=alice.pk).pk,
        "connection_id": create_connection(alice, name="hers", base_url="http://127.0.0.1:9/v1").pk,
        "pk": character.pk,
        "character_id": character.pk,
        "lorebook_id": book.pk,
        "persona_id": persona.pk,
        "avatar_id": avatar.pk,
        "image_key": add_image(alice, chat.pk, png()).key,
        "index": 0,
        "call_id": create_call(in_browser, GenerationRequest("greet", []), is_urgent=False).pk,
        "generation_id": Generation.objects.create(owner_id=alice.pk, chat=chat).pk,
        "preset_id": create_preset(alice, name="hers").pk,
        "rev": patched.chat.rev,
        "arc_id": Arc.objects.create(**told, text="Find the key.").pk,
        "knowledge_id": knowledge.pk,
        "entity_id": mira.pk,
        "snapshot_id": store_snapshot(SnapshotScope("account", alice.pk), "manual").pk,
        "merge_id": EntityMerge.objects.for_owner(alice).get(into=mira).pk,
        "entry_id": LedgerEntry.objects.create(**told, entity=mira, field="mood", value="calm").pk,
        "word_id": word.pk,
        "found_scene_id": Scene.objects.create(**told).pk,
        "journal_id": merge_daily(alice, period=dt.date(2026, 11, 21), instance="", text="- A key was lost.")[0].pk,
        "notice_id": notice.pk,
        "webhook_id": webhook.pk,
        "delivery_id": webhook.deliveries.create(owner_id=alice.pk, event="memory.added", subject=mira.pk).pk,
        "version_id": VersionedText.objects.create(**told, kind="summary", text="A key is missing.").pk,
    }


def url_of(route: str, ids: dict[str, Any]) -> str:
    """Raises KeyError for a parameter that the fixture has nothing for: add it there."""
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(ids[match[1]]), route)


def methods_of(address: str) -> list[str]:
    """Return the methods that the address's view answers; the others are a 405 without a look at anything."""
    view: Any = resolve(address.partition("?")[0]).func
    view_class = getattr(view, "cls", None) or getattr(view, "view_class", None)
    actions = getattr(view, "actions", None)
    if view_class is None:
        answered = methods_of_function(view)
        return [method for method in METHODS if method.upper() in answered]
    return [method for method in METHODS if (method in actions if actions else hasattr(view_class, method))]


def methods_of_function(view: Any) -> set[str]:
    """Return what `require_http_methods` allows, or the methods that Django's own views tell apart."""
    while view is not None:
        variables = inspect.getclosurevars(view).nonlocals if inspect.isfunction(view) else {}
        if "request_method_list" in variables:
            return set(variables["request_method_list"])
        view = getattr(view, "__wrapped__", None)
    return {"GET", "POST"}


def replies(
    user: User, ids: dict[str, Any], found: list[str], *, until_found: bool = False
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Ask each route by all methods that it answers, as a user, and undo afterwards what that changed.

    With ``until_found``, ask by no further method once one has found something.
    """
    page, api = Client(), client_of(user)
    page.force_login(user)
    session = page.cookies[settings.SESSION_COOKIE_NAME].value
    for route in found:
        client: Any = api if route.startswith("api/") else page
        address = url_of(route, ids)
        with transaction.atomic():
            by_method: dict[str, Any] = {}
            for method in methods_of(address):
                by_method[method] = getattr(client, method)(address)
                if until_found and by_method[method].status_code not in NOTHING:
                    break
            yield route, by_method
            transaction.set_rollback(True)
        page.cookies[settings.SESSION_COOKIE_NAME] = session  # as it was, if the route has ended it


def answered(route: str, by_method: dict[str, Any]) -> list[str]:
    """Return what a route has answered with other than that nothing is there."""
    return [
        f"{method} {route}: {reply.status_code} {reply.content[:200]!r}"
        for method, reply in by_method.items()
        if reply.status_code not in NOTHING
    ]


def test_a_stranger_finds_nothing(alices: dict[str, Any]) -> None:
    stranger = User.objects.create_user("charlie@example.com")
    assert [answer for asked in replies(stranger, alices, routes_with_ids()) for answer in answered(*asked)] == []


@pytest.mark.parametrize(
    ("binned", "every"),
    [(False, False), (True, True), further((False, True))],
    ids=["chats", "chats in the bin", "chats, by every method"],
)
def test_the_owner_finds_it(alices: dict[str, Any], binned: bool, every: bool) -> None:
    """Without this the test above would pass for routes that answer nobody."""
    found = [route for route in routes_with_ids() if route.endswith(BIN_ROUTES) == binned]
    if binned:
        delete_chat(Chat.objects.for_owner(alices["user"]).get(pk=alices["chat_id"]))
    for route, by_method in replies(alices["user"], alices, found, until_found=not every):
        statuses = [reply.status_code for reply in by_method.values()]
        assert any(status not in NOTHING for status in statuses), (route, statuses)
        assert all(status < 500 for status in statuses), (route, statuses)


def routes_of_chats() -> list[str]:
    """The routes that name a chat, or something that is in it."""
    found = [route for route in routes_with_ids() if any(f":{name}>" in route for name in OF_CHAT)]
    return [route for route in found if not route.endswith(BIN_ROUTES)]


def test_nothing_of_a_chat_in_the_bin_is_found(alices: dict[str, Any]) -> None:
    delete_chat(Chat.objects.for_owner(alices["user"]).get(pk=alices["chat_id"]))
    found = []
    for route, by_method in replies(alices["user"], alices, routes_of_chats()):
        if route == "api/v1/chats/<uuid:chat_id>/":
            assert by_method.pop("delete").status_code == 204  # it is in the bin already
        found += answered(route, by_method)
    assert found == []


def test_a_read_that_names_no_owner_is_refused(db: None) -> None:
    with pytest.raises(UnscopedQuery):
        Message.objects.filter(name="Alice")
    with system_scope():
        assert not Message.objects.filter(name="Nobody").exists()


def test_lists_hold_only_what_is_ones_own(alices: dict[str, Any], charlie: APIClient) -> None:
    lists = ("chats", "characters", "personas", "lorebooks", "memories", "connections", "entities", "runs")
    for path in (
        *lists,
        "model-tests",
        "generation-presets",
        "reports",
        "notices",
        "looks",
        "instances",
        "identity",
        "conflicts",
    ):
        assert charlie.get(f"/api/v1/{path}/").json()["results"] == []
