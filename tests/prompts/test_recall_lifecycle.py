"""Test how recalls are made, edited, reused, re-run and deleted."""

import pytest

from apps.chats.locking import Guard
from apps.chats.operations import Patch, append_messages, delete_chat, patch_messages, undo_change
from apps.chats.signals import ChatChanged
from apps.common.problems import Missing
from apps.llm.embeddings import EmbeddingUnavailable
from apps.prompts.assembly import recalled as assembly
from apps.prompts.models import Recall
from apps.prompts.operations import edit_recall, ensure_recall, mark_reused, recall_appended_turn, recall_turn
from tests.factories import make_chat, parsed


@pytest.fixture
def turn(chat, memories):
    return chat.messages.order_by("index").last()


@pytest.fixture
def url(chat, turn):
    return f"/api/v1/chats/{chat.pk}/messages/{turn.pk}/recall/"


def prompt(api, chat, **body):
    reply = api.post(f"/api/v1/chats/{chat.pk}/prompt/", body)
    assert reply.status_code == 200, reply.content
    return reply.json()


def test_an_edit_is_kept_until_the_recall_is_rerun(api, chat, url):
    fresh = prompt(api, chat)["recall"]
    edited = api.patch(url, {"text": "The key is made of glass."}).json()
    assert (edited["text"], edited["edited"]) == ("The key is made of glass.", True)
    again = prompt(api, chat)
    assert (again["recall"]["text"], again["recall"]["source"]) == ("The key is made of glass.", "persistent")
    assert {slot["name"]: slot["text"] for slot in again["slots"] if slot["text"]} == {
        "triggered": "The key is made of glass."
    }
    rerun = api.post(f"{url}rerun/").json()
    assert (rerun["text"], rerun["edited"], rerun["source"]) == (fresh["text"], False, "fresh")


def test_an_edited_block_stays_in_its_slot_and_is_used_whole(api, chat, url):
    text = prompt(api, chat)["recall"]["text"]
    api.patch(url, {"text": text.replace("plums", "pears") + "\n- more" * 1000})
    slots = {slot["name"]: slot for slot in prompt(api, chat)["slots"]}
    assert "Mira likes pears." in slots["long_term"]["text"]
    assert sum(slot["text"].count("- more") for slot in slots.values()) == 1000
    assert sum(slot["trimmed"] for slot in slots.values()) == 0


def test_an_edited_text_is_used_whole_in_one_block_whatever_its_template_says(api, chat, url):
    text = prompt(api, chat)["recall"]["text"]
    edited = text.replace("They left", "We left").replace("plums", "pears") + "\n- more" * 3000
    assert api.patch(url, {"text": edited}).status_code == 200
    template = f"{'Take all of this as true. ' * 100}\n{{{{entries}}}}"
    settings = {"mode": "unified", "unified_template": template}
    assert api.patch(f"/api/v1/chats/{chat.pk}/injection-settings/", settings).status_code == 200
    unified = prompt(api, chat, context_tokens=100_000)["unified"]
    assert "Mira likes pears." in unified
    assert unified.count("- more") == 3000


def test_an_edited_block_stays_in_its_slot_if_a_name_in_its_heading_has_two_spaces(api, chat, url):
    chat.character.name = "Mira  Vale"
    chat.character.save()
    settings = {"long_term_template": "What {{char}} knows:\n{{entries}}"}
    assert api.patch(f"/api/v1/chats/{chat.pk}/injection-settings/", settings).status_code == 200
    text = prompt(api, chat)["recall"]["text"]
    api.patch(url, {"text": text.replace("plums", "pears")})
    slots = {slot["name"]: slot["text"] for slot in prompt(api, chat)["slots"]}
    assert "Mira likes pears." in slots["long_term"]
    assert slots["long_term"].startswith("What Mira Vale knows:")


def test_a_failed_recall_falls_back_to_the_stored_one(api, chat, url, monkeypatch):
    stored = prompt(api, chat)["recall"]

    def unavailable(*args):
        raise EmbeddingUnavailable

    monkeypatch.setattr(assembly, "retrieve", unavailable)
    again = prompt(api, chat)
    assert (again["recall"]["text"], again["recall"]["source"]) == (stored["text"], "persistent")
    slots = {slot["name"]: slot["text"] for slot in again["slots"]}
    assert slots["long_term"]
    assert all(text in stored["text"] for text in slots.values())


def test_an_edited_text_survives_the_correction_of_its_turn_until_a_rerun(api, alice, chat, turn, url):
    prompt(api, chat)
    api.patch(url, {"text": "The key is made of glass."})
    assert api.get(url).json()["outdated"] is False
    patch_messages(alice, chat.pk, [Patch({"mes": "What about the silver key?"}, id=turn.pk)], Guard(optional=True))
    again = prompt(api, chat)
    assert (again["recall"]["text"], again["recall"]["outdated"]) == ("The key is made of glass.", True)
    assert "glass" in "".join(slot["text"] for slot in again["slots"])
    ensure_recall(alice, chat.pk, turn.pk)  # as after an append
    recall_turn(chat, chat.messages.with_swipes().get(pk=turn.pk))
    stored = api.get(url).json()
    assert (stored["text"], stored["edited"], stored["outdated"]) == ("The key is made of glass.", True, True)
    assert api.get(f"/api/v1/chats/{chat.pk}/recalls/").json()["results"] == [stored]
    rerun = api.post(f"{url}rerun/").json()
    assert (rerun["edited"], rerun["outdated"]) == (False, False)
    assert "glass" not in rerun["text"]


def test_a_stored_recall_is_not_used_for_a_changed_turn(api, alice, chat, turn, url, monkeypatch):
    prompt(api, chat)
    patch_messages(alice, chat.pk, [Patch({"mes": "Let us sleep."}, id=turn.pk)], Guard(optional=True))
    assert api.get(url).json()["outdated"] is True
    again = prompt(api, chat)
    assert (again["recall"]["edited"], again["recall"]["outdated"]) == (False, False)
    monkeypatch.setattr(assembly, "retrieve", lambda *args: (_ for _ in ()).throw(EmbeddingUnavailable))
    patch_messages(alice, chat.pk, [Patch({"mes": "Let us wake."}, id=turn.pk)], Guard(optional=True))
    nothing = prompt(api, chat)
    assert nothing["recall"] is None
    assert all(slot["text"] == "" for slot in nothing["slots"])


def test_a_recall_uses_only_the_state_before_its_turn(api, chat, remember):
    messages = list(chat.messages.order_by("index"))
    remember("Early: the key is silver.", valid_from=messages[1])
    remember("Late: the key is lost.", valid_from=messages[25])
    remember("Then: the key is in the well.", valid_from=messages[2], valid_to=messages[26], state="superseded")
    url = f"/api/v1/chats/{chat.pk}/messages/{messages[20].pk}/recall/"
    text = api.post(f"{url}rerun/").json()["text"]
    assert "Early" in text
    assert "Then" in text
    assert "Late" not in text
    now = prompt(api, chat)["recall"]["text"]
    assert "Late" in now
    assert "Then" not in now


def test_list_get_and_delete(api, chat, url):
    assert api.get(url).status_code == 404
    prompt(api, chat)
    listed = api.get(f"/api/v1/chats/{chat.pk}/recalls/").json()
    assert listed["results"] == [api.get(url).json()]
    assert {"next", "previous"} <= set(listed)
    assert api.delete(url).status_code == 204
    assert api.delete(url).status_code == 404


def test_only_user_messages_have_a_recall(api, chat):
    theirs = chat.messages.get(index=1)
    reply = api.post(f"/api/v1/chats/{chat.pk}/messages/{theirs.pk}/recall/rerun/")
    assert reply.status_code == 400
    assert not chat.recalls.exists()


@pytest.mark.parametrize("body", [{}, {"text": None}, {"text": 3}, {"text": "x", "edited": True}])
def test_bad_edits_are_refused(api, chat, url, body):
    prompt(api, chat)
    before = api.get(url).json()
    assert api.patch(url, body).status_code == 400
    assert api.get(url).json() == before


def test_another_user_gets_404(api, stranger, chat, url):
    prompt(api, chat)
    requests = [("get", url), ("patch", url), ("delete", url), ("post", f"{url}rerun/")]
    for method, path in [*requests, ("get", f"/api/v1/chats/{chat.pk}/recalls/")]:
        assert getattr(stranger, method)(path, {"text": "x"}).status_code == 404
    assert api.get(url).status_code == 200


def appended(chat, messages):
    """Return the signal event of an append."""
    return ChatChanged(
        owner_id=chat.owner_id,
        chat_id=chat.pk,
        kind="append",
        rev=chat.rev,
        integrity=chat.integrity,
        message_ids=[message.pk for message in messages],
    )


def test_the_last_user_turn_of_an_append_is_recalled(alice, chat, memories):
    texts = [("One?", True), ("Yes.", False), ("And the key?", True), ("Wait.", False)]
    done = append_messages(alice, chat.pk, [parsed(text, is_user=is_user) for text, is_user in texts])
    for _ in range(2):
        recall_appended_turn(appended(done.chat, done.messages))
    assert [row.message_id for row in Recall.objects.for_owner(alice)] == [done.messages[2].pk]


def test_a_deleted_turn_gets_no_recall(alice, memories):
    chat = make_chat(alice, "Hello?")
    event = appended(chat, chat.messages.all())
    delete_chat(chat)
    recall_appended_turn(event)
    assert not Recall.objects.for_owner(alice).exists()


def test_a_deleted_message_that_is_brought_back_has_its_recall_card(api, chat, turn, url):
    prompt(api, chat)
    edited = api.patch(url, {"text": "The key is made of glass."}).json()
    patch_messages(chat.owner, chat.pk, [Patch(id=turn.pk, delete=True)], Guard(optional=True))
    assert not Recall.objects.for_owner(chat.owner).exists()
    undo_change(chat.owner, chat.pk, Guard(optional=True))
    restored = api.get(url).json()
    same = ("text", "edited", "source", "memories", "tokens")
    assert [restored[name] for name in same] == [edited[name] for name in same]


def test_a_recall_deleted_while_it_is_edited_stays_deleted(chat, turn, memories):
    recall = recall_turn(chat, turn)
    patch_messages(chat.owner_id, chat.pk, [Patch(id=turn.pk, delete=True)], Guard(optional=True))
    with pytest.raises(Missing):
        edit_recall(recall, "Mine.", turn_hash=recall.turn_hash)
    assert mark_reused(recall).text == recall.text
    assert not Recall.objects.for_owner(chat.owner_id).exists()


def test_an_edit_of_a_text_that_is_there_no_more_is_a_conflict_and_loses_nothing(api, chat, url):
    recall = prompt(api, chat)["recall"]
    first = api.patch(url, {"text": "The key is made of glass.", "rev": recall["rev"]}).json()
    assert first["rev"] == recall["rev"] + 1
    stale = api.patch(url, {"text": "The key is made of tin.", "rev": recall["rev"]})
    assert (stale.status_code, stale.json()["current_rev"]) == (409, first["rev"])
    assert stale.json()["current_text"] == "The key is made of glass."
    again = api.patch(url, {"text": "The key is made of glass.", "rev": recall["rev"]})  # a repetition of the first
    assert (again.status_code, again.json()["rev"]) == (200, first["rev"])
    assert api.patch(url, {"text": "The key is made of tin."}).json()["rev"] == first["rev"] + 1
    assert api.patch(url, {"text": "x", "rev": "one"}).json()["errors"][0]["pointer"] == "/rev"


def test_texts_that_a_person_wrote_or_replaced_are_kept(api, chat, url):
    fresh = prompt(api, chat)["recall"]
    assert fresh["versions"] == []
    for text in ("The key is made of glass.", "The key is made of tin."):
        edited = api.patch(url, {"text": text}).json()
    assert [(one["text"], one["edited"]) for one in edited["versions"]] == [
        ("The key is made of glass.", True),
        (fresh["text"], False),
    ]
    rerun = api.post(f"{url}rerun/").json()
    assert [one["text"] for one in rerun["versions"]][:2] == ["The key is made of tin.", "The key is made of glass."]
    for number in range(12):
        edited = api.patch(url, {"text": f"Text {number}."}).json()
    assert [one["text"] for one in edited["versions"]] == [f"Text {number}." for number in range(10, 0, -1)]
