"""Test the recall card."""

import re

import pytest
from django.test import Client

from apps.chats.models import Message
from apps.chats.operations import append_messages
from apps.llm.models import Connection
from apps.memories.models import Entity, MemorySource
from apps.prompts.filling.fill import MAX_LEFT_OUT
from apps.prompts.models import Recall
from apps.prompts.operations import recall_turn
from apps.prompts.pages.recall_bodies import body_of
from apps.prompts.pages.recall_cards import recall_panel
from apps.prompts.settings.stores import INJECTION_SETTINGS
from apps.prompts.slots.definitions import RECALLED
from apps.prompts.turns import text_hash
from tests.factories import UserFactory, make_chat, parsed

SESSION = {"tier": "session", "kind": "detail", "expiration": "session"}
HTMX = {"HTTP_HX_REQUEST": "true"}
NOTHING = "recall-nothing"


@pytest.fixture
def turn(alice, chat, memories) -> Message:
    return Message.objects.for_owner(alice).with_swipes().filter(chat=chat).order_by("index").last()


@pytest.fixture
def url(chat, turn) -> str:
    return f"/chats/{chat.pk}/messages/{turn.pk}/recall/"


@pytest.fixture
def site(alice) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    return client


def post(site, url, **data):
    """Post as a browser does, with the CSRF token of the card's form."""
    html = site.get(f"{url.split('/recall/')[0]}/recall/?change", **HTMX).content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', html)[1]
    return site.post(url, data | {"csrfmiddlewaretoken": token}, **HTMX)


def restore(site, url, card: str):
    """Undo as a browser does, with the form of ``card``."""
    values = re.search(r'name="values" value="([^"]+)"', card)[1]
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', card)[1]
    return site.post(f"{url}restore/", {"values": values, "csrfmiddlewaretoken": token}, **HTMX)


def test_all_cards_of_a_page_cost_one_query_and_are_closed(
    alice, chat, memories, turn, site, url, django_assert_num_queries
):
    messages = list(Message.objects.for_owner(alice).with_swipes().filter(chat=chat).order_by("index"))
    said = messages[1]
    MemorySource.objects.create(owner_id=alice.pk, memory=memories[0], message=said, swipe=said.active_swipe)
    for message in messages[0::10]:
        recall_turn(chat, message)
    with django_assert_num_queries(1):
        html = recall_panel(alice, messages)
    assert "Recalled" in html[turn.pk]
    assert "The silver key lies under the blue stone." not in html[turn.pk]
    body = site.get(f"{url}body/", **HTMX).content.decode()
    assert "The silver key lies under the blue stone." in body
    assert f"/chats/{chat.pk}/?at=1" in body
    assert f"/memories/{memories[0].pk}/" in body
    assert "said 29 messages ago" in body


@pytest.mark.parametrize(
    ("tiers", "title"),
    [
        (["long_term", "session", "messages"], "Recalled 2 memories and 1 message"),
        (["long_term"], "Recalled 1 memory"),
        (["messages", "messages"], "Recalled 2 messages"),
    ],
)
def test_a_card_counts_memories_and_messages_apart(alice, chat, turn, tiers, title):
    line = {"kind": "fact", "text": "A line.", "why": "", "score": 0.5, "triggered": True, "message": None}
    lines = [{**line, "tier": tier} for tier in tiers] + [{**line, "tier": "session", "triggered": False}]
    Recall.objects.create(owner_id=alice.pk, chat=chat, message=turn, text="A text.", memories=lines)
    card = " ".join(recall_panel(alice, [turn])[turn.pk].split())
    assert f"{title} <" in card
    assert "1 always included" in card


def test_the_page_of_a_card_shows_its_turn_without_markup(alice, chat, site):
    message = append_messages(alice, chat.pk, [parsed("*She waits.* **Where** is `the key`?", is_user=True)]).messages[
        0
    ]
    recall_turn(chat, message)
    page = site.get(f"/chats/{chat.pk}/messages/{message.pk}/recall/").content.decode()
    assert "She waits. Where is the key?" in page
    assert "*She" not in page


def test_the_pages_of_a_long_chat_load_no_card_that_is_not_seen(alice, site, django_assert_max_num_queries):
    chat = make_chat(alice, *[f"We walk on for mile {number}." for number in range(1000)])
    line = {"tier": "session", "kind": "fact", "text": "A remembered line.", "why": "", "score": 0.5, "triggered": True}
    Recall.objects.bulk_create(
        Recall(owner_id=alice.pk, chat=chat, message=message, text="A text.", memories=[{**line, "message": None}] * 40)
        for message in chat.messages.filter(is_user=True).order_by("index")
    )
    with django_assert_max_num_queries(60):
        html = site.get(f"/chats/{chat.pk}/").content.decode()
    turns = html.count('class="turn')
    assert 0 < html.count('<details class="index-card recall"') <= turns < 200
    assert "A remembered line." not in html
    assert '<svg viewBox="0 0 360' not in html


def test_the_body_of_a_card_costs_as_many_queries_for_any_number_of_memories(
    alice, chat, turn, remember, django_assert_num_queries
):
    recall_turn(chat, turn)
    for number in range(20):
        remember(f"Guest {number} sings {'la ' * number}.", **SESSION)
    recall = recall_turn(chat, turn, overwrite=True)
    with django_assert_num_queries(2):  # none for source messages: these memories have none
        assert len(body_of(alice, recall).always_included) > 5


def test_what_had_no_room_is_stored_and_shown_with_its_budget(alice, chat, turn, remember, site, url):
    for number in range(60):
        remember(
            f"Guest {number} paid {number * 7} coins for room {number * 3} and left at {number} o'clock.", **SESSION
        )
    recall = recall_turn(chat, turn)
    kept = {item["id"] for item in recall.memories}
    assert recall.left_out_count > len(recall.left_out) == MAX_LEFT_OUT
    assert not kept & {item["id"] for item in recall.left_out}
    body = site.get(f"{url}body/", **HTMX).content.decode()
    assert f"{recall.left_out_count} left out: no room" in body
    assert "tokens were taken" in body


def test_names_are_a_picture_and_a_list(alice, chat, memories, turn, site, url):
    mira, key = (Entity.objects.create(owner_id=alice.pk, character=chat.character, name=n) for n in ("Mira", "Key"))
    memories[0].entities.add(mira, key)
    recall_turn(chat, turn)
    body = site.get(f"{url}body/", **HTMX).content.decode()
    assert body.count("<circle") == 2
    assert body.count("<line") == 1
    for entity in (mira, key):
        assert f'href="#name-{turn.pk}-{entity.pk}"' in body
        assert f'id="name-{turn.pk}-{entity.pk}"' in body
    assert "Together with Key." in body
    assert "Together with Mira." in body


def test_a_rerun_tells_what_changed_and_can_be_undone(alice, chat, memories, turn, site, url):
    former = recall_turn(chat, turn)
    lost = str(memories[0].pk)
    memories[0].delete()
    card = post(site, f"{url}rerun/").content.decode()
    assert "went</span> <del>" in card  # the label is not struck through
    assert "The silver key lies under the blue stone." in card
    assert lost not in str(Recall.objects.for_owner(alice).get(message=turn).memories)
    back = restore(site, url, card).content.decode()
    row = Recall.objects.for_owner(alice).get(message=turn)
    assert (row.text, row.memories) == (former.text, former.memories)
    assert "The silver key lies under the blue stone." in back


def test_undo_of_a_rerun_keeps_what_was_edited_since(alice, chat, turn, site, url):
    recall_turn(chat, turn)
    card = post(site, f"{url}rerun/").content.decode()
    post(site, f"{url}edit/", text="Mine.")
    assert "Mine." in restore(site, url, card).content.decode()
    assert Recall.objects.for_owner(alice).get(message=turn).text == "Mine."


def test_undo_of_a_rerun_brings_an_edited_text_back(alice, chat, turn, site, url):
    recall_turn(chat, turn)
    post(site, f"{url}edit/", text="Mine.")
    card = post(site, f"{url}rerun/").content.decode()
    assert "Your edited text was replaced." in card
    restore(site, url, card)
    row = Recall.objects.for_owner(alice).get(message=turn)
    assert (row.text, row.edited) == ("Mine.", True)


def test_the_form_counts_against_the_budget_and_the_context(turn, site, url):
    form = site.get(f"{url}?change", **HTMX).content.decode()
    budget = int(re.search(r"of ([\d,]+) tokens", form)[1].replace(",", ""))
    assert "used as it is" not in form
    assert "used as it is" in post(site, f"{url}size/", text="word " * budget * 2).content.decode()
    assert "Nothing is cut" in post(site, f"{url}size/", text="word " * 19_000).content.decode()


def test_the_form_measures_as_the_card_does_and_calls_no_text_edited_before_it_is(alice, turn, site, url):
    # The tokens of this model are estimated.
    connection = Connection(owner_id=alice.pk, name="Model", base_url="http://localhost:1/v1", model="unknown-7b")
    connection.for_generation = True
    connection.save()
    closed = site.get(url, **HTMX).content.decode()
    tokens = re.search(r"<span>([\d,]+) tokens", closed)[1]
    text = Recall.objects.for_owner(alice).get(message=turn).text
    form = site.get(f"{url}?change", **HTMX).content.decode()
    measured = [form, post(site, f"{url}size/", text=text).content.decode()]
    assert all(re.search(rf'role="status">\s*{tokens} (of [\d,]+ )?tokens', shown) for shown in measured)
    assert "Your text is used" not in form
    # A prompt had this room for it, whatever the budgets of an edited text are.
    INJECTION_SETTINGS.change(alice, {"mode": "advanced", **{f"{slot.name}_budget": 1 for slot in RECALLED}})
    untouched = site.get(f"{url}?change", **HTMX).content.decode()
    assert re.search(rf'role="status">\s*{tokens} tokens', untouched)
    assert "used as it is" not in untouched
    changed = f"{text} And mind the rope."
    size = re.search(r"([\d,]+) of ([\d,]+) tokens", post(site, f"{url}size/", text=changed).content.decode())
    edited = post(site, f"{url}edit/", text=changed).content.decode()
    assert f"<span>{size[1]} tokens" in edited
    form = site.get(f"{url}?change", **HTMX).content.decode()
    assert "used as it is" in form
    assert "Your text is used" in form


def test_an_edited_text_whose_slot_was_switched_off_since_says_so(chat, turn, site, url):
    text = "Mind the well.\n\nKnown from earlier conversations:\nThe key is made of glass."
    post(site, f"{url}edit/", text=text)
    note = "This block is not used, since it is switched off under"
    assert note not in site.get(f"{url}body/", **HTMX).content.decode()
    INJECTION_SETTINGS.change(chat.owner, {"long_term_enabled": False}, chat=chat)
    for shown in (
        site.get(f"{url}body/", **HTMX),
        site.get(f"{url}?change", **HTMX),
        post(site, f"{url}size/", text=text),
    ):
        page = shown.content.decode()
        assert note in page
        assert f'href="/chats/{chat.pk}/prompt-settings/">Memory in the prompt</a>: Lasting memories.' in page
    assert note not in post(site, f"{url}size/", text="Mind the well.").content.decode()


def test_a_passage_of_the_chat_is_labelled_in_the_readers_language(alice, chat, turn, site, url):
    recall = recall_turn(chat, turn)
    passage = {"kind": "said", "triggered": True, "message": None, "text": "Mira: …", "why": "", "score": 0.5}
    Recall.objects.for_owner(alice).filter(pk=recall.pk).update(memories=[passage])
    assert "Said</span>" in site.get(f"{url}body/", **HTMX).content.decode()
    assert "Gesagt</span>" in site.get(f"{url}body/", HTTP_ACCEPT_LANGUAGE="de", **HTMX).content.decode()


def test_a_turn_just_sent_shows_a_pending_card(alice, turn, site, url):
    html = recall_panel(alice, [turn])[turn.pk]
    assert f'hx-get="{url}"' in html
    card = site.get(url, **HTMX).content.decode()
    assert "Recalled" in card
    assert Recall.objects.for_owner(alice).filter(message=turn).exists()


@pytest.fixture
def nothing(alice, chat, turn) -> Recall:
    """The recall of the newest turn, for which nothing was found."""
    return Recall.objects.create(owner_id=alice.pk, chat=chat, message=turn, turn_hash=text_hash(turn.mes))


def test_the_newest_turn_says_that_nothing_was_recalled(alice, turn, nothing, site, url, django_assert_max_num_queries):
    with django_assert_max_num_queries(4):  # the recalls, a later turn, the chat, its memories
        assert NOTHING in recall_panel(alice, [turn])[turn.pk]
    assert NOTHING in site.get(url, **HTMX).content.decode()


@pytest.mark.parametrize(
    "change", [{"edited": True}, {"turn_hash": ""}, {"turn_hash": text_hash("Before.")}], ids=["edited", "lore", "old"]
)
def test_a_recall_that_was_not_made_for_the_turn_does_not_say_that_nothing_fits(
    alice, turn, nothing, site, url, change
):
    Recall.objects.for_owner(alice).filter(pk=nothing.pk).update(**change)
    assert turn.pk not in recall_panel(alice, [turn])
    assert NOTHING not in site.get(url, **HTMX).content.decode()


def test_under_an_earlier_turn_nothing_is_said_if_nothing_was_recalled(alice, chat, turn, nothing, site, url):
    append_messages(alice, chat.pk, [parsed("Gone."), parsed("Where to?", is_user=True)])
    assert recall_panel(alice, [turn]) == {}
    assert NOTHING not in site.get(url, **HTMX).content.decode()


def test_text_of_memories_is_escaped(chat, turn, remember, site, url):
    remember("The key <script>alert(1)</script> is silver.")
    recall_turn(chat, turn)
    assert "<script>" not in site.get(f"{url}body/", **HTMX).content.decode()


def test_edit_rerun_delete_and_undo(alice, turn, site, url):
    site.get(url, **HTMX)
    card = post(site, f"{url}edit/", text="The key is made of glass.")
    assert "The key is made of glass." in card.content.decode()
    row = Recall.objects.for_owner(alice).get(message=turn)
    assert (row.text, row.edited) == ("The key is made of glass.", True)
    gone = post(site, f"{url}delete/").content.decode()
    row.refresh_from_db()
    assert (row.deleted, row.text, row.memories) == (True, "", [])
    back = restore(site, url, gone)
    assert "The key is made of glass." in back.content.decode()
    post(site, f"{url}rerun/")
    assert "blue stone" in Recall.objects.for_owner(alice).get(message=turn).text


def test_undo_accepts_only_values_signed_by_the_server(turn, site, url):
    site.get(url, **HTMX)
    assert post(site, f"{url}restore/", values="forged").status_code == 400
    assert post(site, f"{url}restore/").status_code == 400


def test_an_edit_that_is_too_long_keeps_the_card(alice, turn, site, url):
    site.get(url, **HTMX)
    before = Recall.objects.for_owner(alice).get(message=turn).text
    assert post(site, f"{url}edit/", text="x" * 100_001).status_code == 400
    assert post(site, f"{url}edit/", text="nul \x00").status_code == 400
    assert Recall.objects.for_owner(alice).get(message=turn).text == before


def test_who_saves_over_an_edit_of_another_tab_is_told_and_keeps_the_text(alice, turn, site, url):
    site.get(url, **HTMX)
    form = site.get(f"{url}?change", **HTMX).content.decode()
    rev = re.search(r'name="rev" value="(\d+)"', form)[1]
    assert post(site, f"{url}edit/", text="Ours.", rev=rev).status_code == 200
    stale = post(site, f"{url}edit/", text="Theirs.", rev=rev)
    page = stale.content.decode()
    assert (stale.status_code, ">\nTheirs.</textarea>" in page, "Ours." in page) == (409, True, True)
    assert Recall.objects.for_owner(alice).get(message=turn).text == "Ours."
    post(site, f"{url}edit/", text="Theirs.", rev=re.search(r'name="rev" value="(\d+)"', page)[1])
    assert Recall.objects.for_owner(alice).get(message=turn).text == "Theirs."


def test_another_user_gets_404(chat, turn, site, url):
    site.get(url, **HTMX)
    stranger = Client()
    stranger.force_login(UserFactory())
    assert stranger.get(url).status_code == 404
    assert stranger.get(f"{url}body/").status_code == 404
    for action in ("edit", "rerun", "delete", "restore"):
        assert stranger.post(f"{url}{action}/", {"text": "x"}).status_code == 404
    theirs = chat.messages.get(index=1)
    assert site.get(f"/chats/{chat.pk}/messages/{theirs.pk}/recall/").status_code == 404


def test_without_htmx_the_card_is_a_page(turn, site, url):
    reply = site.get(url)
    assert "<h1>Recall</h1>" in reply.content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', reply.content.decode())[1]
    saved = site.post(f"{url}edit/", {"text": "Glass.", "csrfmiddlewaretoken": token})
    assert saved.status_code == 302
    assert saved["Location"].endswith(f"?at={turn.index}")
    assert "Glass." in site.get(url).content.decode()
