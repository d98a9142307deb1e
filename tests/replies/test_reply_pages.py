"""The panel of replies on the chat page, and the page “Next prompt”."""

import datetime as dt
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.chats.models import Message
from apps.chats.operations import Patch, add_participant, append_messages, patch_messages
from apps.common import jobs
from apps.common.scoping import system_scope
from apps.llm.queries import generation_connection
from apps.prompts.models import SlotStatistics
from apps.prompts.operations import edit_recall, ensure_recall
from apps.prompts.settings.stores import prompt_settings_of
from apps.replies import running
from apps.replies.models import Generation
from apps.replies.operations import UNCHECKED, request_generation, settle, update_fields
from apps.replies.presets import create_preset
from apps.replies.tasks import run_generation, sweep_generations
from tests.conftest import site  # noqa: F401
from tests.factories import UserFactory, make_character, make_memory, parsed
from tests.llm.scripted_server import Reply

HTMX = {"HX-Request": "true"}


@pytest.fixture
def url(chat) -> str:
    return reverse("replies:panel", args=[chat.pk])


def ask(site, url, mode="reply", **fields):  # noqa: F811
    return site.post(url, {"mode": mode, **fields}, headers=HTMX)


def last_generation() -> Generation | None:
    with system_scope():
        return Generation.objects.order_by("-pk").first()


def last_message(chat) -> Message:
    return Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("-index").first()


def run_last() -> Generation:
    generation = last_generation()
    assert generation is not None
    run_generation(generation_id=str(generation.pk))
    generation.refresh_from_db()
    return generation


def test_without_a_model_the_panel_says_how_to_connect_one(site, url, chat):  # noqa: F811
    page = site.get(url, headers=HTMX).content.decode()
    assert "No model is connected" in page
    assert reverse("llm:index") in page
    assert reverse("replies:prompt", args=[chat.pk]) in page
    assert "<button" not in page


def test_after_the_users_turn_a_reply_can_be_asked_for(site, url, connect):  # noqa: F811
    connect()
    page = site.get(url, headers=HTMX).content.decode()
    assert 'value="reply"' in page
    assert 'value="swipe"' not in page
    page = ask(site, url).content.decode()
    assert "data-generation" in page
    assert "Waiting for the model" in page
    assert 'data-writing="Mira is writing' in page
    run_last()
    page = site.get(url, headers=HTMX).content.decode()
    assert all(f'value="{mode}"' in page for mode in ("swipe", "continue", "impersonate"))
    assert 'value="reply"' not in page


def test_without_javascript_a_request_leads_back_to_the_chat(site, url, connect, chat):  # noqa: F811
    connect()
    response = site.post(url, {"mode": "reply"})
    assert response["Location"] == reverse("chats:detail", args=[chat.pk])
    assert "Mira is writing" in site.get(url).content.decode()


def test_a_second_request_is_refused_with_the_reason(site, url, connect):  # noqa: F811
    connect()
    ask(site, url)
    response = ask(site, url)
    assert response.status_code == 409
    assert "A reply is being written in this chat" in response.content.decode()


@pytest.mark.parametrize("fields", [{"mode": "sing"}, {"mode": ""}, {"character": "x"}])
def test_bad_requests_are_refused(site, url, connect, fields):  # noqa: F811
    connect()
    assert ask(site, url, **fields).status_code == 400
    assert last_generation() is None


def test_a_failure_shows_its_reason_and_can_be_tried_again(site, url, connect, server, chat):  # noqa: F811
    connect()
    server.reply_with(Reply("Wrong key.", status=401))
    ask(site, url)
    failed = run_last()
    page = site.get(url, headers=HTMX).content.decode()
    assert "The reply failed." in page
    assert failed.error.split()[0] in page
    assert "Your message is kept." in page
    assert "Try again" in page
    append_messages(chat.owner_id, chat.pk, [parsed("Never mind.", is_user=True)])
    assert "The reply failed." not in site.get(url, headers=HTMX).content.decode()


def test_another_reply_that_fails_says_that_the_one_before_is_kept(site, url, connect, server):  # noqa: F811
    connect()
    server.reply_with("It is here.", Reply("Wrong key.", status=401))
    ask(site, url)
    run_last()
    ask(site, url, mode="swipe")
    run_last()
    page = site.get(url, headers=HTMX).content.decode()
    assert "The reply before is kept." in page
    assert "Your message is kept." not in page


def test_the_message_about_a_failure_is_closed_for_good(site, url, connect, server):  # noqa: F811
    connect()
    server.reply_with(Reply("Wrong key.", status=401), Reply("Wrong key.", status=401))
    ask(site, url)
    failed = run_last()
    page = site.post(reverse("replies:dismiss", args=[failed.pk]), headers=HTMX).content.decode()
    assert ("The reply failed." in page, 'value="reply"' in page) == (False, True)
    assert "The reply failed." not in site.get(url, headers=HTMX).content.decode()
    ask(site, url)
    run_last()
    assert "The reply failed." in site.get(url, headers=HTMX).content.decode()


def test_a_reply_that_broke_off_is_tried_again_as_another_version(site, url, connect, server, chat):  # noqa: F811
    connect()
    server.reply_with(Reply("It is here, under the old stones.", break_after=4), "It is there.")
    ask(site, url)
    assert run_last().message_id
    page = site.get(url, headers=HTMX).content.decode()
    assert "The text received so far is kept." in page
    assert 'value="swipe">Try again' in page
    assert "Incomplete" in site.get(reverse("chats:detail", args=[chat.pk])).content.decode()
    ask(site, url, "swipe")
    run_last()
    assert "Incomplete" not in site.get(reverse("chats:detail", args=[chat.pk])).content.decode()
    assert chat.messages.count() == 4


def test_trying_again_before_the_text_of_a_failure_is_stored_makes_another_version(site, url, connect, chat):  # noqa: F811
    connect()
    ask(site, url)
    failed = jobs.claim(Generation, last_generation().pk)
    jobs.heartbeat(failed, text="It is here, under")
    jobs.end(failed, Generation.State.FAILED, error="The server closed the connection.")
    assert 'value="reply">Try again' in site.get(url, headers=HTMX).content.decode()
    assert ask(site, url).status_code == 200
    assert (last_generation().mode, last_generation().message_id) == ("swipe", last_message(chat).pk)
    run_last()
    assert [swipe.mes for swipe in last_message(chat).ordered_swipes] == ["It is here, under", "Hello."]
    assert chat.messages.count() == 4


def test_a_stopped_reply_says_so(site, url, connect):  # noqa: F811
    connect()
    ask(site, url)
    page = site.post(reverse("replies:stop", args=[last_generation().pk]), headers=HTMX).content.decode()
    assert "The reply was stopped." in page


def test_a_text_written_for_the_user_is_offered(site, url, connect, server, chat):  # noqa: F811
    connect()
    server.reply_with("I <look> around.")
    ask(site, url, "impersonate")
    run_last()
    page = site.get(url, headers=HTMX).content.decode()
    assert "I &lt;look&gt; around." in page
    assert chat.messages.count() == 3


def test_an_edit_of_the_answered_turn_is_told(site, url, connect, chat):  # noqa: F811
    connect()
    ask(site, url)
    run_last()
    assert "has changed since" not in site.get(url, headers=HTMX).content.decode()
    patch_messages(chat.owner_id, chat.pk, [Patch({"mes": "Show me the cellar."}, index=2)], UNCHECKED)
    assert "has changed since" in site.get(url, headers=HTMX).content.decode()


def test_the_page_knows_which_turn_can_be_answered_again_and_how(site, url, connect, chat):  # noqa: F811
    turn = chat.messages.get(index=2)
    assert "data-turn" not in site.get(url, headers=HTMX).content.decode()
    connect()
    assert f'data-turn="{turn.pk}" data-again="reply"' in site.get(url, headers=HTMX).content.decode()
    ask(site, url)
    assert "data-turn" not in site.get(url, headers=HTMX).content.decode()
    run_last()
    assert f'data-turn="{turn.pk}" data-again="swipe"' in site.get(url, headers=HTMX).content.decode()


def test_whether_sending_asks_for_a_reply_is_a_choice(site, url, connect):  # noqa: F811
    connect()
    assert "data-at-once" in site.get(url, headers=HTMX).content.decode()
    site.post(reverse("theme"), {"reply_on_send": "off"})
    assert "data-at-once" not in site.get(url, headers=HTMX).content.decode()


def test_a_request_and_an_end_are_told_to_clients(connect, chat, monkeypatch):
    told = []
    monkeypatch.setattr("apps.replies.streams.notify", lambda owner, event, data: told.append((event, data["state"])))
    connect()
    request_generation(chat.owner_id, chat.pk, mode="reply")
    run_last()
    assert told == [("reply", "queued"), ("reply", "succeeded")]


def test_pages_and_the_call_have_the_same_numbers_of_memory(site, chat, connect):  # noqa: F811
    connect(context_tokens=1200)
    for number in range(40):
        make_memory(chat, f"Fact {number}: the well at milestone {number} has water.", importance=3)
    settings = reverse("prompts:chat-settings", args=[chat.pk])
    pages = [site.get(reverse("replies:prompt", args=[chat.pk])), site.get(settings)]
    request_generation(chat.owner_id, chat.pk, mode="reply")
    run_last()
    called = SlotStatistics.objects.for_owner(chat.owner_id).get(chat=chat, slot="long_term")
    assert 0 < called.tokens <= called.budget < prompt_settings_of(chat).slots["long_term"].budget
    for page in pages:
        total = page.context["prompt"].memory if "connection" in page.context else page.context["prompt"]
        assert f"{total.total_tokens:,} tokens of memory in the next prompt" in page.content.decode()
        assert f"{called.tokens:,} of {called.budget:,} tokens" in page.content.decode()
    totals = [pages[0].context["prompt"].memory.total_tokens, pages[1].context["prompt"].total_tokens]
    assert totals[0] == totals[1]
    less = site.post(reverse("prompts:preview", args=[chat.pk]), {"long_term_budget": "40"}, headers=HTMX)
    numbers = less.content.decode().split('id="numbers-long_term"')[1].split("</span>")[0]
    assert 'hx-swap-oob="true"' in numbers
    assert int(re.search(r'value="(\d+)"', numbers)[1]) < called.tokens


def test_pages_show_the_budget_of_an_edited_text_and_that_it_is_used_whole(site, chat, connect):  # noqa: F811
    connect()
    make_memory(chat, "The well has water.")
    settings = reverse("prompts:chat-settings", args=[chat.pk])
    site.post(settings, {"long_term_budget": "60", "adaptive": "off"})
    recall = ensure_recall(chat.owner, chat.pk, chat.messages.filter(is_user=True).latest("index").pk)
    edit_recall(recall, recall.text + "\n- The well is deep." * 100, turn_hash=recall.turn_hash)
    whole = "a text that you edited, used whole"
    for url in (reverse("replies:prompt", args=[chat.pk]), settings):
        assert re.search(r"[1-9]\d\d of 60 tokens · " + whole, site.get(url).content.decode())


def test_the_page_shows_the_prompt_as_the_model_gets_it(site, chat, connect, server):  # noqa: F811
    connect()
    page = site.get(reverse("replies:prompt", args=[chat.pk]))
    shown = page.context["prompt"].messages
    request_generation(chat.owner_id, chat.pk, mode="reply")
    run_last()
    assert shown == server.of_kind("generation")[0].messages
    assert "scripted-small" in page.content.decode()
    assert f"{page.context['prompt'].total_tokens} tokens" in page.content.decode()


def test_the_page_writes_large_numbers_as_the_cards_do(site, chat, connect):  # noqa: F811
    connect()
    append_messages(chat.owner_id, chat.pk, [parsed("Well? " * 700, is_user=True)])
    page = site.get(reverse("replies:prompt", args=[chat.pk])).content.decode()
    assert "a context of 8,192 tokens" in page
    assert re.search(r"messages, \d,\d{3} tokens\.", page)
    assert re.search(r">\d,\d{3} tokens</span>", page)


def test_the_page_shows_the_whole_context_as_parts_and_what_was_left_out_of_it(site, chat, connect):  # noqa: F811
    connect(context_tokens=2048)
    for fact in ("The well at the milestone has water.", "Mira keeps a raven in the attic of the mill."):
        make_memory(chat, fact, importance=3)
    site.post(reverse("prompts:chat-settings", args=[chat.pk]), {"long_term_budget": "20", "adaptive": "off"})
    append_messages(chat.owner_id, chat.pk, [parsed(f"Well number {n}? " * 20, is_user=True) for n in range(30)])
    page = site.get(reverse("replies:prompt", args=[chat.pk]))
    context, prompt = page.context["map"], page.context["prompt"]
    totals = {total.group: total.tokens for total in context.totals}
    assert sum(totals.values()) == 2048
    assert sum(totals[group] for group in ("card", "lore", "memory", "history")) == prompt.total_tokens
    assert totals["memory"]
    assert totals["history"]
    assert totals["reply"]
    assert 999 < sum(segment.width for segment in context.segments) < 1001
    texts = [piece.text for segment in context.segments for piece in segment.pieces if piece.number]
    assert texts == [message["content"] for message in prompt.messages]
    *slots, history = context.left_out
    assert [text for item in slots for text, _ in item.entries]
    assert "aren’t in the prompt" in history.reason
    html = page.content.decode()
    assert 'href="#part-1"' in html
    assert 'id="part-1"' in html


def test_without_a_model_the_page_shows_the_prompt_and_how_to_connect_one(site, chat):  # noqa: F811
    page = site.get(reverse("replies:prompt", args=[chat.pk])).content.decode()
    assert reverse("llm:add") in page
    assert "Show me." in page


def test_a_card_that_does_not_fit_is_told(site, chat, connect):  # noqa: F811
    connect(context_tokens=1024)
    chat.character.description = "A long story. " * 2000
    chat.character.save()
    assert "The card and the reply take" in site.get(reverse("replies:prompt", args=[chat.pk])).content.decode()


def test_in_a_group_a_member_is_asked_and_nobody_else(site, alice, chat, connect):  # noqa: F811
    connect()
    salt, stranger = make_character(alice, name="Salt"), make_character(alice, name="Wren")
    add_participant(alice, chat.pk, name="Mira", character=chat.character)
    add_participant(alice, chat.pk, name="Salt", character=salt)
    url = reverse("replies:panel", args=[chat.pk])
    assert site.post(url, {"mode": "reply", "character": stranger.pk}).status_code == 400
    assert site.post(url, {"mode": "reply", "character": salt.pk}).status_code == 302
    assert Generation.objects.for_owner(alice).get().speaker == "Salt"


def test_the_preset_of_the_next_reply_is_chosen_where_there_are_several(site, url, alice, connect):  # noqa: F811
    connect()
    create_preset(alice, name="Calm")
    assert 'name="preset"' not in site.get(url, headers=HTMX).content.decode()
    wild = create_preset(alice, name="Wild")
    assert 'name="preset"' in site.get(url, headers=HTMX).content.decode()
    ask(site, url, preset=str(wild.pk))
    assert run_last().preset == wild
    assert f'value="{wild.pk}" selected' in site.get(url, headers=HTMX).content.decode()
    ask(site, url, "swipe", preset="")
    assert run_last().preset is None


def send(site, url, chat, text) -> str:  # noqa: F811
    """Send a message as the page does: store it, and ask for its reply. Return the panel."""
    append_messages(chat.owner_id, chat.pk, [parsed(text, is_user=True)])
    response = ask(site, url, sent="1")
    assert response.status_code == 200
    return response.content.decode()


def claimed_reply() -> Generation:
    """Return the last generation, whose worker has received its first text."""
    generation = jobs.claim(Generation, last_generation().pk)
    running._request(generation, generation_connection(generation.owner_id))
    running._keep(generation, "It is")
    return generation


def end(generation: Generation, state: str = "succeeded", **fields) -> None:
    """End a generation whose worker is about to settle it."""
    update_fields(generation, text="It is here.", state=state, finished_at=timezone.now(), **fields)


def speakers(chat) -> list[str]:
    """Return who wrote the messages from the user's first turn without an answer on."""
    return ["user" if message.is_user else message.name for message in chat.messages.order_by("index")][2:]


def test_a_message_sent_while_a_reply_is_written_is_answered_after_it_and_once(site, url, connect, chat, server):  # noqa: F811
    """No page is needed for that: the worker asks for the next reply when it has stored the last one."""
    connect()
    ask(site, url)
    first = claimed_reply()
    panel = send(site, url, chat, "And the key?")
    assert f'data-generation="{first.pk}"' in panel
    assert "A reply is being written" not in panel
    send(site, url, chat, "And the lamp?")
    end(first)
    for _ in range(2):  # by its worker, and by a request that was faster
        settle(first)
    for _ in range(2):  # by tabs that are late
        ask(site, url, sent="1")
    assert run_last().state == "succeeded"
    ask(site, url, sent="1")
    assert speakers(chat) == ["user", "Mira", "user", "user", "Mira"]
    assert server.of_kind("generation")[-1].messages[-1]["content"].endswith("And the lamp?")
    with system_scope():
        assert Generation.objects.count() == 2


@pytest.mark.parametrize(("state", "count"), [("cancelled", 1), ("failed", 1), ("succeeded", 2)])
def test_a_message_sent_while_a_reply_was_written_that_has_ended_since(site, url, connect, chat, state, count):  # noqa: F811
    """What the page asks for may come after its user has stopped the reply."""
    connect()
    ask(site, url)
    first = claimed_reply()
    end(first, state)
    settle(first)
    append_messages(chat.owner_id, chat.pk, [parsed("And the key?", is_user=True)])
    response = ask(site, url, sent="1", during=str(first.pk))
    assert response.status_code == 200
    with system_scope():
        assert Generation.objects.count() == count


def test_a_message_that_the_reply_has_answered_already_gets_no_other(site, url, connect, chat, server):  # noqa: F811
    connect()
    ask(site, url)
    send(site, url, chat, "And the key?")  # before the worker has read the chat
    run_last()
    assert server.of_kind("generation")[0].messages[-1]["content"].endswith("And the key?")
    assert speakers(chat) == ["user", "user", "Mira"]
    assert last_generation().state == "succeeded"


def test_a_message_deleted_before_its_turn_gets_no_reply(site, url, connect, chat):  # noqa: F811
    connect()
    ask(site, url)
    first = claimed_reply()
    send(site, url, chat, "And the key?")
    patch_messages(
        chat.owner_id,
        chat.pk,
        [Patch(id=pk, delete=True) for pk in (first.message_id, last_message(chat).pk)],
        UNCHECKED,
    )
    end(first)
    settle(first)
    assert last_generation().pk == first.pk


@pytest.mark.parametrize("mode", ["swipe", "continue", "impersonate"])
def test_a_message_sent_while_something_else_is_written_is_answered_after_it(site, url, connect, chat, mode):  # noqa: F811
    connect()
    ask(site, url)
    run_last()
    ask(site, url, mode=mode)
    second = claimed_reply()
    send(site, url, chat, "And the key?")
    end(second)
    settle(second)
    run_last()
    assert speakers(chat) == ["user", "Mira", "user", "Mira"]


def test_a_message_that_waited_is_answered_with_the_preset_of_the_reply_before(site, url, connect, chat):  # noqa: F811
    connect()
    preset = create_preset(chat.owner, name="Terse")
    ask(site, url, preset=str(preset.pk))
    first = claimed_reply()
    send(site, url, chat, "And the key?")
    end(first)
    settle(first)
    assert run_last().preset == preset
    assert last_generation().pk != first.pk


def test_a_worker_that_is_lost_costs_a_message_that_waits_nothing(site, url, connect, chat):  # noqa: F811
    connect()
    ask(site, url)
    first = claimed_reply()
    send(site, url, chat, "And the key?")
    update_fields(first, heartbeat_at=timezone.now() - dt.timedelta(hours=1))
    for _ in range(2):
        sweep_generations()
    first.refresh_from_db()
    assert (first.state, last_generation().state) == ("failed", "queued")
    run_last()
    assert speakers(chat) == ["user", "Mira", "user", "Mira"]


def test_a_worker_that_is_lost_after_the_last_word_does_neither(site, url, connect, chat):  # noqa: F811
    connect()
    ask(site, url)
    first = claimed_reply()
    send(site, url, chat, "And the key?")
    end(first)
    for _ in range(2):
        sweep_generations()
    run_last()
    assert speakers(chat) == ["user", "Mira", "user", "Mira"]


@pytest.mark.parametrize("state", ["cancelled", "failed"])
def test_after_a_reply_that_was_stopped_or_failed_a_message_waits_for_the_user(site, url, connect, chat, state):  # noqa: F811
    connect()
    ask(site, url)
    first = claimed_reply()
    send(site, url, chat, "And the key?")
    if state == "cancelled":
        site.post(reverse("replies:stop", args=[first.pk]), headers=HTMX)
    else:
        end(first, state, error="The server failed.")
        settle(first)
    sweep_generations()
    assert (last_generation().pk, last_generation().state) == (first.pk, state)
    assert 'value="reply">Reply' in site.get(url, headers=HTMX).content.decode()
    ask(site, url)
    run_last()
    assert speakers(chat) == ["user", "Mira", "user", "Mira"]


def test_a_model_that_was_disconnected_meanwhile_is_not_asked(site, url, connect, chat):  # noqa: F811
    connection = connect()
    ask(site, url)
    first = claimed_reply()
    send(site, url, chat, "And the key?")
    connection.delete()
    end(first)
    settle(first)
    assert last_generation().pk == first.pk
    assert speakers(chat) == ["user", "Mira", "user"]


@pytest.mark.parametrize(("state", "said"), [("cancelled", "The reply was stopped."), ("failed", "The reply failed.")])
def test_what_became_of_a_reply_is_said_to_who_wrote_on_meanwhile(site, url, connect, chat, state, said):  # noqa: F811
    connect()
    ask(site, url)
    generation = last_generation()
    follows = chat.messages.get(index=2)
    append_messages(chat.owner_id, chat.pk, [parsed("And the key?", is_user=True)])
    update_fields(generation, follows=follows, text="It is", state=state, finished_at=timezone.now())
    settle(generation)
    page = site.get(url, headers=HTMX).content.decode()
    assert said in page
    assert f'data-state="{state}"' in page
    assert "Try again" not in page  # the text that it left is not the last message
    assert 'value="reply">Reply' in page
    append_messages(chat.owner_id, chat.pk, [parsed("Well?", is_user=True)])
    assert said not in site.get(url, headers=HTMX).content.decode()


def test_a_preset_of_another_user_or_none_at_all_is_refused(site, url, connect):  # noqa: F811
    connect()
    theirs = create_preset(UserFactory(), name="Theirs")
    assert [ask(site, url, preset=value).status_code for value in (str(theirs.pk), "x")] == [400, 400]
    assert last_generation() is None


def test_a_second_tab_asks_for_no_second_reply(connect, server, site, url):  # noqa: F811
    """Its button is from before the first one's reply."""
    connect()
    ask(site, url)
    run_last()
    answer = ask(site, url)
    assert answer.status_code == 409
    assert "The chat has changed in the meantime." in answer.content.decode()
    with system_scope():
        assert Generation.objects.count() == 1
