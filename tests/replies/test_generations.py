"""Generations: what becomes of the text, whatever the model, the worker and other clients do meanwhile."""

import datetime as dt
import time

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.chats.models import Chat, Message
from apps.chats.operations import Patch, append_messages, delete_chat, patch_messages, restore_chat
from apps.common import jobs
from apps.common.jobs import progress
from apps.common.problems import Conflict, Invalid
from apps.replies import operations, running
from apps.replies.models import Generation
from apps.replies.operations import UNCHECKED, request_generation, settle, stop_generation, write_text
from apps.replies.speakers import position_in_turn
from apps.replies.tasks import run_generation, sweep_generations
from tests.factories import make_chat, parsed
from tests.llm.scripted_server import Reply, document


def generate(chat: Chat, mode: str = "reply", **fields) -> Generation:
    generation = request_generation(chat.owner_id, chat.pk, mode=mode, **fields)
    run_generation(generation_id=str(generation.pk))
    generation.refresh_from_db()
    return generation


def last(chat: Chat) -> Message:
    return Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("-index").first()


def claimed(chat: Chat, mode: str = "reply") -> Generation:
    """A generation whose worker has received its first text."""
    generation = jobs.claim(Generation, request_generation(chat.owner_id, chat.pk, mode=mode).pk)
    running._keep(generation, "It is")
    return generation


def test_the_reply_becomes_a_message_of_the_speaker(connect, server, chat):
    connect()
    server.reply_with("<think>Hm.</think>It is here.")
    generation = generate(chat)
    assert (generation.state, generation.text, generation.settled) == ("succeeded", "It is here.", True)
    message = last(chat)
    assert (message.pk, message.name, message.mes, message.is_user) == (
        generation.message_id,
        "Mira",
        "It is here.",
        False,
    )
    assert message.extra == {"generation": str(generation.pk)}
    assert generation.usage == {"prompt_tokens": 11, "completion_tokens": 7}


def test_the_model_gets_the_whole_prompt(connect, server, chat):
    connect()
    generate(chat)
    sent = server.of_kind("generation")[0].messages
    assert sent[0]["content"].startswith("Write the next reply of Mira")
    assert sent[-1] == {"role": "user", "content": "Show me."}


def test_another_reply_is_a_swipe_to_the_same_turn(connect, server, chat):
    connect()
    server.reply_with("First.", "Second.")
    generate(chat)
    generate(chat, "swipe")
    message = last(chat)
    assert [swipe.mes for swipe in message.ordered_swipes] == ["First.", "Second."]
    assert (message.mes, message.index) == ("Second.", 3)
    first, second = server.of_kind("generation")
    assert first.messages == second.messages


def test_a_continued_reply_keeps_its_beginning(connect, server, chat):
    connect()
    server.reply_with("It is", " here.")
    generate(chat)
    generate(chat, "continue")
    assert last(chat).mes == "It is here."


def test_the_text_of_an_impersonation_is_no_message(connect, server, chat):
    connect()
    server.reply_with("I follow.")
    generation = generate(chat, "impersonate")
    assert (generation.text, generation.message_id, last(chat).mes) == ("I follow.", None, "Show me.")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(status=401), "refuses the key"),
        (Reply(status=500), "The server failed"),
        (document({"error": {"message": "Overheated."}}), "Overheated."),
        (Reply(""), "said nothing"),
        (Reply(stall_after=0, stream=True), "silent"),
    ],
)
def test_a_failed_reply_says_why_and_keeps_the_turn(connect, server, chat, reply, reason):
    connect(timeout=1)
    server.reply_with(reply)
    generation = generate(chat)
    assert generation.state == "failed"
    assert reason in generation.error
    assert last(chat).mes == "Show me."


@pytest.mark.parametrize("how", ["break_after", "stall_after"])
def test_a_stream_that_ends_half_way_keeps_its_text_as_partial(connect, server, chat, how):
    connect(timeout=1, stream=True)
    server.reply_with(Reply("It is here, below the stone.", piece=6, stream=True, **{how: 4}))
    generation = generate(chat)
    assert (generation.state, last(chat).mes) == ("failed", "It is here, ")
    assert last(chat).extra["loci"]["partial"] is True


def test_a_stopped_reply_keeps_its_text_and_its_worker_ends(connect, chat):
    connect()
    generation = claimed(chat)
    stop_generation(Generation.objects.for_owner(chat.owner_id).get(pk=generation.pk))
    with pytest.raises(jobs.ClaimLost):
        running._keep(generation, "It is here")
    assert last(chat).mes == "It is"
    assert last(chat).extra["loci"]["partial"] is True


def test_who_stops_a_reply_late_does_not_take_back_what_came_meanwhile(connect, chat):
    connect()
    generation = claimed(chat)
    stopped = jobs.cancel(Generation.objects.for_owner(chat.owner_id).get(pk=generation.pk))
    Generation.objects.for_owner(chat.owner_id).update(text="It is here")  # of the worker, which settles it first
    settle(Generation.objects.for_owner(chat.owner_id).get(pk=generation.pk))
    settle(stopped)
    assert last(chat).mes == "It is here"


def test_a_reply_stopped_before_its_call_asks_no_model(connect, server, chat):
    connect(stream=True)
    generation = request_generation(chat.owner_id, chat.pk, mode="reply")
    claimed_generation = jobs.claim(Generation, generation.pk)
    stop_generation(Generation.objects.for_owner(chat.owner_id).get(pk=generation.pk))
    running.run(claimed_generation)
    assert not server.of_kind("generation")
    generation.refresh_from_db()
    assert generation.state == "cancelled"


def test_the_text_of_a_lost_worker_is_kept(connect, chat):
    connect()
    generation = claimed(chat)
    jobs.heartbeat(generation, text="It is here")
    stale = timezone.now() - dt.timedelta(hours=1)
    Generation.objects.for_owner(chat.owner_id).update(heartbeat_at=stale)
    sweep_generations()
    sweep_generations()
    generation.refresh_from_db()
    assert (generation.state, generation.error) == ("failed", operations.WORKER_LOST)
    assert (last(chat).mes, last(chat).extra["loci"]["partial"]) == ("It is here", True)


@pytest.mark.django_db(transaction=True)
def test_a_worker_whose_first_prompt_takes_minutes_is_not_lost(connect, server, chat, monkeypatch):
    connect()
    server.reply_with("It is here.")
    monkeypatch.setattr(progress, "HEARTBEAT_INTERVAL", 0.05)
    assemble = running.assemble

    def assemble_slowly(request):
        row, past = Generation.objects.for_owner(chat.owner_id), timezone.now() - dt.timedelta(hours=1)
        row.update(heartbeat_at=past)
        deadline = time.monotonic() + 30
        while row.get().heartbeat_at == past:
            assert time.monotonic() < deadline, "no heartbeat"
            time.sleep(0.02)
        return assemble(request)

    monkeypatch.setattr(running, "assemble", assemble_slowly)
    assert generate(chat).state == "succeeded"


def finish(generation: Generation, text: str = "It is here.") -> None:
    jobs.heartbeat(generation, text=text)
    write_text(generation, is_partial=False)


def swipes(chat: Chat) -> list[str]:
    return [swipe.mes for swipe in last(chat).ordered_swipes]


def test_an_edit_during_the_reply_is_kept_and_so_is_the_reply(connect, chat):
    connect()
    generation = claimed(chat)
    patch_messages(chat.owner_id, chat.pk, [Patch({"mes": "Mine."}, id=generation.message_id)], UNCHECKED)
    finish(generation, "It is here")
    finish(generation)
    assert (last(chat).mes, swipes(chat)) == ("Mine.", ["Mine.", "It is here."])


def test_an_edit_before_the_continuation_is_kept_and_so_is_the_continuation(connect, server, chat):
    connect()
    server.reply_with("It is")
    generate(chat)
    generation = jobs.claim(Generation, request_generation(chat.owner_id, chat.pk, mode="continue").pk)
    patch_messages(chat.owner_id, chat.pk, [Patch({"mes": "Mine."}, id=generation.message_id)], UNCHECKED)
    running._keep(generation, " here")
    finish(generation, " here.")
    assert (last(chat).mes, swipes(chat)) == ("Mine.", ["Mine.", "It is here."])


def test_an_edit_after_the_last_text_leaves_no_other_swipe(connect, chat):
    connect()
    generation = claimed(chat)
    patch_messages(chat.owner_id, chat.pk, [Patch({"mes": "Mine."}, id=generation.message_id)], UNCHECKED)
    finish(generation, "It is")
    assert swipes(chat) == ["Mine."]


@pytest.mark.parametrize("mode", ["swipe", "continue"])
def test_a_reply_deleted_before_its_other_version_is_asked_for_fails_it(connect, server, chat, mode):
    connect()
    generate(chat)
    calls = len(server.of_kind("generation"))
    generation = request_generation(chat.owner_id, chat.pk, mode=mode)
    patch_messages(chat.owner_id, chat.pk, [Patch(id=last(chat).pk, delete=True)], UNCHECKED)
    run_generation(generation_id=str(generation.pk))
    generation.refresh_from_db()
    assert (generation.state, generation.error) == ("failed", "The reply was deleted in the meantime.")
    assert len(server.of_kind("generation")) == calls


def test_a_reply_stands_after_the_turn_that_it_answers(connect, chat):
    connect()
    generation = jobs.claim(Generation, request_generation(chat.owner_id, chat.pk, mode="reply").pk)
    append_messages(chat.owner_id, chat.pk, [parsed("Wait!", is_user=True)])
    running._keep(generation, "It is here.")
    messages = Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("index")
    assert [message.mes for message in messages][-3:] == ["Show me.", "It is here.", "Wait!"]
    assert generation.message_id == messages[3].pk


def test_a_deleted_chat_stops_its_reply_and_has_it_when_it_is_restored(connect, chat):
    connect()
    generation = claimed(chat)
    generation.text = "It is here"
    jobs.heartbeat(generation, text=generation.text)
    delete_chat(chat)
    with pytest.raises(jobs.ClaimLost):
        jobs.heartbeat(generation)
    sweep_generations()
    settle(generation)
    restore_chat(chat.owner_id, chat.pk)
    sweep_generations()
    generation.refresh_from_db()
    assert (generation.state, generation.settled) == ("cancelled", True)
    assert (last(chat).mes, last(chat).extra["loci"]["partial"]) == ("It is here", True)


def test_a_reply_waits_while_the_broker_is_down(connect, chat, api, monkeypatch, django_capture_on_commit_callbacks):
    """The request succeeds, and the sweep enqueues the generation later."""
    connect()

    def fail(*args, **kwargs):
        raise ConnectionError

    monkeypatch.setattr(operations.current_app, "send_task", fail)
    with django_capture_on_commit_callbacks(execute=True):
        answer = api.post(f"/api/v1/chats/{chat.pk}/reply/", {}, format="json")
    assert (answer.status_code, answer.json()["generation"]["state"]) == (202, "queued")
    sent = []
    monkeypatch.setattr(operations.current_app, "send_task", lambda *args, kwargs, **options: sent.append(kwargs))
    Generation.objects.for_owner(chat.owner_id).update(created_at=timezone.now() - dt.timedelta(hours=1))
    sweep_generations()
    assert sent == [{"generation_id": answer.json()["generation"]["id"]}]


def test_a_failed_reply_says_how_long_the_server_asks_to_wait(connect, server, chat):
    connect()
    server.reply_with(Reply(status=429, headers={"Retry-After": "3600"}))
    assert "asks to wait 3,600 seconds" in generate(chat).error


def test_a_deletion_during_the_reply_is_kept(connect, chat):
    connect()
    generation = claimed(chat)
    patch_messages(chat.owner_id, chat.pk, [Patch(id=generation.message_id, delete=True)], UNCHECKED)
    finish(generation)
    assert last(chat).mes == "Show me."


def test_an_append_during_the_reply_loses_nothing(connect, chat):
    connect()
    generation = claimed(chat)
    append_messages(chat.owner_id, chat.pk, [parsed("Wait!", is_user=True)])
    finish(generation)
    messages = Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("index")
    assert [message.mes for message in messages][-2:] == ["It is here.", "Wait!"]


def test_a_swipe_chosen_during_the_reply_stays_chosen(connect, server, chat):
    connect()
    server.reply_with("First.")
    generate(chat)
    generation = claimed(chat, "swipe")
    patch_messages(chat.owner_id, chat.pk, [Patch(id=generation.message_id, swipe_id=0)], UNCHECKED)
    finish(generation)
    assert [swipe.mes for swipe in last(chat).ordered_swipes] == ["First.", "It is here."]
    assert last(chat).mes == "First."


def test_a_chat_has_one_generation_at_a_time(connect, chat):
    connect()
    request_generation(chat.owner_id, chat.pk, mode="reply")
    with pytest.raises(Conflict):
        request_generation(chat.owner_id, chat.pk, mode="reply")
    with pytest.raises(IntegrityError), transaction.atomic():
        Generation.objects.create(owner_id=chat.owner_id, chat=chat)


@pytest.mark.parametrize("mode", ["swipe", "continue"])
def test_a_mode_that_needs_a_reply_is_refused_without_one(connect, alice, mode):
    connect()
    with pytest.raises(Invalid):
        request_generation(alice, make_chat(alice, "Hello.").pk, mode=mode)


def test_without_a_connection_nothing_is_generated(chat):
    with pytest.raises(Invalid):
        request_generation(chat.owner_id, chat.pk, mode="reply")


@pytest.mark.parametrize(
    ("text", "last_speaker", "position"),
    [
        ("Well?", "", 0),
        ("Well?", "Mira", 1),
        ("Well?", "Tom", 0),
        ("tom, and you, Mira?", "", 1),
        ("I am Tom", "Tom", 0),
    ],
)
def test_who_is_mentioned_speaks_else_who_is_in_turn(text, last_speaker, position):
    assert position_in_turn(["Mira", "Tom"], text, last_speaker) == position
