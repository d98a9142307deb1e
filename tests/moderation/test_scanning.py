"""Rules and the moderation endpoint flag what is written and imported, off the way of the request."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.chats.operations import create_character, create_lorebook, create_persona
from apps.chats.signals import ChatChanged
from apps.chats.tasks import dispatch_chat_committed
from apps.common import jobs
from apps.exchange.chats.imports import import_chats
from apps.memories.operations import NewMemory, create_memory, edit_memory
from apps.memories.operations.merging import merge_by_hand, split_memory
from apps.moderation import tasks
from apps.moderation.content import content_of
from apps.moderation.models import Case, Flag, Rule, ScanJob
from apps.moderation.operations.decisions import decide
from apps.moderation.operations.looks import look_at_case
from apps.moderation.scanning import jobs as scanning
from apps.moderation.tasks import on_chat_committed, scan_thing
from tests.factories import make_chat
from tests.llm.scripted_server import Reply, Request, ScriptedServer, document


@pytest.fixture
def rule(db: None) -> Rule:
    return Rule.objects.create(name="Stones", text="blue stone\nred stone")


@pytest.fixture
def endpoint(settings: Any) -> Iterator[ScriptedServer]:
    """A moderation endpoint that flags what mentions a sword."""
    with ScriptedServer() as server:
        settings.MODERATION_URL = f"{server.url}/v1"

        def moderate(request: Request) -> Reply:
            assert request.body["model"] == settings.MODERATION_MODEL
            found = [
                {"flagged": "sword" in text, "categories": {"violence": "sword" in text, "sexual": False}}
                for text in request.body["input"]
            ]
            return document({"results": found})

        server.reply_to(lambda request: request.path.endswith("/moderations"), moderate)
        yield server


def run_all() -> None:
    while job := jobs.claim_next([ScanJob]):
        scanning.execute_claimed(job)


def write(chat: Chat) -> None:
    """Have a chat's messages scanned, as the task does that follows their write."""
    ids = list(Message.objects.for_owner(chat.owner_id).filter(chat=chat).values_list("pk", flat=True))
    event = ChatChanged(chat.owner_id, chat.pk, "append", chat.rev, chat.integrity, ids)
    on_chat_committed(event=event)
    run_all()


def flagged(owner: User) -> list[tuple[str, str]]:
    flags = Flag.objects.for_owner(owner).select_related("case").order_by("pk")
    return [(flag.case.kind, flag.source) for flag in flags]


def test_without_rules_nothing_is_enqueued(alice: User) -> None:
    write(make_chat(alice, "A blue stone."))
    assert not ScanJob.objects.for_owner(alice).exists()


def test_scans_are_created_while_a_restore_holds_the_owner(alice: User, rule: Rule) -> None:
    """Else the task that creates them would wait, and be given up after its time limit, with what it was to scan."""
    chat = make_chat(alice, "A blue stone.")
    with CaptureQueriesContext(connection) as queries:
        scanning.create_scans(alice, "chat", chat.pk)
    assert ScanJob.objects.for_owner(alice).count() == 1
    assert not [query["sql"] for query in queries if "accounts_user" in query["sql"]]


def test_a_rule_flags_a_message_once(alice: User, rule: Rule, moderator: User) -> None:
    chat = make_chat(alice, "A Blue Stone.", "Blue stones are rare.", "None.")
    write(chat)
    write(chat)
    assert flagged(alice) == [("message", "Stones")]
    case = Case.objects.for_owner(alice).get()
    assert Message.objects.for_owner(alice).get(pk=case.target_id).index == 0
    decide(moderator, case.pk, "dismiss", reason="It is a stone.")
    write(chat)
    assert Case.objects.for_owner(alice).get().state == "decided"


def test_an_import_and_a_character_are_scanned(alice: User, rule: Rule) -> None:
    lines = [{"user_name": "Alice", "character_name": "Mira"}, {"name": "Mira", "mes": "A red stone."}]
    text = "\n".join(json.dumps(line) for line in lines)
    (imported,) = import_chats(alice, io.BytesIO(text.encode()), filename="heist.jsonl").chats
    chat = getattr(imported, "chat", imported)
    event = ChatChanged(alice.pk, chat.pk, "import", chat.rev, chat.integrity)
    dispatch_chat_committed(**{name: getattr(event, name) for name in event.__dataclass_fields__})
    character = create_character(alice, name="Bo", description="He owns the blue stone.")
    scan_thing(owner_id=str(alice.pk), kind="character", ids=[str(character.pk)])
    run_all()
    assert flagged(alice) == [("message", "Stones"), ("character", "Stones")]


def test_personas_lorebooks_and_memories_are_scanned_when_they_are_written(
    alice: User, rule: Rule, moderator: User, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr(tasks.scan_thing, "delay", lambda **kwargs: tasks.scan_thing(**kwargs))
    book = {"entries": [{"keys": ["stone"], "content": "The red stone lies below."}]}
    with django_capture_on_commit_callbacks(execute=True):
        create_persona(alice, name="Al", description="Seeks the blue stone.")
        create_lorebook(alice, name="Places", document=book)
        memory = create_memory(alice, NewMemory("The sky is grey.", "long_term", "fact"), editor="alice")
        edit_memory(memory, editor="alice", pinned=True)
    run_all()
    assert sorted(flagged(alice)) == [("lorebook", "Stones"), ("persona", "Stones")]
    with django_capture_on_commit_callbacks(execute=True):
        edit_memory(memory, editor="alice", text="She has the red stone.")
    run_all()
    assert ("memory", "Stones") in flagged(alice)
    for case in Case.objects.for_owner(alice):
        look = look_at_case(moderator, case.pk, "What the rule has found.")
        assert "stone" in str(content_of(look).parts)


def test_memories_that_a_person_merges_or_splits_are_scanned(
    alice: User, rule: Rule, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr(tasks.scan_thing, "delay", lambda **kwargs: tasks.scan_thing(**kwargs))
    with django_capture_on_commit_callbacks(execute=True):
        texts = ("The sky is grey.", "The sea is grey.", "The sand is grey.")
        one, other, third = (create_memory(alice, NewMemory(t, "long_term", "fact"), editor="alice") for t in texts)
        merged = merge_by_hand([one, other], "Under a grey sky lies the blue stone.", editor="alice")
        parts = split_memory(third, ["Sand is grey.", "In it lies the red stone."], editor="alice")
    run_all()
    assert flagged(alice) == [("memory", "Stones"), ("memory", "Stones")]
    assert {case.target_id for case in Case.objects.for_owner(alice)} == {merged.pk, parts[1].pk}


def test_the_endpoint_flags_with_its_categories(alice: User, endpoint: ScriptedServer) -> None:
    write(make_chat(alice, "A sword.", *(f"Text {number}" for number in range(40))))
    assert flagged(alice) == [("message", "moderation endpoint")]
    assert Flag.objects.for_owner(alice).get().categories == ["violence"]
    sent = [text for request in endpoint.requests for text in request.body["input"]]
    assert len(sent) == 41


@pytest.mark.parametrize(
    "bad",
    [
        Reply(status=500),
        document({"results": []}),
        Reply(raw=b"{", content_type="application/json"),
        Reply(status=429, headers={"Retry-After": "3600"}),
        document({"results": [{"flagged": "yes", "categories": [1]}]}),
    ],
    ids=["error", "too few", "no JSON", "limited", "other types"],
)
def test_an_endpoint_out_of_order_delays_no_rule_and_is_asked_later(
    alice: User, rule: Rule, endpoint: ScriptedServer, bad: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.llm.http.endpoint.BACKOFF", 0.001)
    endpoint.reply_to(lambda request: request.path.endswith("/moderations"), bad)
    write(make_chat(alice, "A sword on a blue stone."))
    assert flagged(alice) == [("message", "Stones")]
    waiting = ScanJob.objects.for_owner(alice).get(source="endpoint")
    assert (waiting.state, waiting.is_waiting, waiting.done) == ("queued", True, 0)


def test_a_job_gives_way_and_goes_on_where_it_was(alice: User, rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "BATCH", 2)
    monkeypatch.setattr(jobs, "SLICE_SECONDS", 0)
    chat = make_chat(alice, *(f"{number}: a blue stone" for number in range(5)))
    on_chat_committed(event=ChatChanged(alice.pk, chat.pk, "branch", chat.rev, chat.integrity))
    turns = 0
    while job := jobs.claim_next([ScanJob]):
        turns += 1
        scanning.execute_claimed(job)
    assert (len(flagged(alice)), turns) == (5, 4)


def test_a_pattern_that_takes_for_ever_holds_nothing_up(alice: User, rule: Rule) -> None:
    slow = Rule.objects.create(name="Slow", form="pattern", text=r"(a|aa)+$")
    write(make_chat(alice, "a" * 60 + "!", "A blue stone."))
    assert flagged(alice) == [("message", "Stones")]
    slow.refresh_from_db()
    assert slow.timeouts == 1


@pytest.mark.parametrize(("form", "text"), [("pattern", "("), ("pattern", "a*"), ("words", " \n ")])
def test_a_rule_that_cannot_work_is_refused(form: str, text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Rule(name="x", form=form, text=text).clean()
    assert list(refused.value.message_dict) == ["text"]
