"""What a request makes of the stored chat, by the operations themselves."""

from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import OperationalError

from apps.accounts.models import User
from apps.chats.models import Chat, Message, Swipe
from apps.chats.operations import Patch, append_messages, delete_chat, patch_messages
from apps.common.database.restriction import restricted_to
from apps.llm.models import Connection, Usage
from apps.proxy.collected_replies import CollectedReply, collected_reply
from apps.proxy.matching import comparing
from apps.proxy.models import ProxiedChat
from apps.proxy.operations import requests
from apps.proxy.operations.replies import GUARD, store_reply
from apps.proxy.operations.requests import MAX_CLIENTS, StoredRequest
from apps.proxy.requests.turns import Turn, turns_of
from apps.proxy.upstream import calls
from apps.proxy.upstream.connections import base_url
from tests.factories import UserFactory, make_character, make_chat, parsed
from tests.proxy.conftest import texts_of
from tests.proxy.requests import store_request

REFUSAL = "I can't continue."

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return UserFactory()


def sent(owner: User, *texts: str, opening: str = "", **options: Any) -> StoredRequest:
    turns = [Turn(number % 2 == 0, text) for number, text in enumerate(texts)]
    return store_request(owner, turns, opening=opening, **options)


def exchanged(owner: User, *texts: str, **options: Any) -> Chat:
    """Send the texts but the last one, and store that as the reply."""
    stored = sent(owner, *texts[:-1], **options)
    store_reply(stored, CollectedReply(texts[-1]))
    return stored.chat


def replied(stored: StoredRequest, text: str) -> None:
    store_reply(stored, CollectedReply(text))


def swipes_of(owner: User) -> set[str]:
    return {swipe.mes for swipe in Swipe.objects.for_owner(owner)}


def long_chat(owner: User, count: int, **options: Any) -> tuple[Chat, list[str]]:
    texts = [f"text {number}" for number in range(count)]
    chats = [exchanged(owner, *texts[:end], **options) for end in range(2, count + 1, 2)]
    return chats[-1], texts


def patched(chat: Chat, *indexes: int, **options: Any) -> None:
    """Change messages as the page does."""
    ids = Message.objects.for_owner(chat.owner_id).filter(chat=chat, index__in=indexes).values_list("pk", flat=True)
    patch_messages(chat.owner, chat.pk, [Patch(id=pk, **options) for pk in ids], GUARD)


def test_edits_and_deletions_in_between_are_followed(alice: User) -> None:
    exchanged(alice, "a", "b")
    exchanged(alice, "a", "b", "c", "d")
    exchanged(alice, "a", "B", "c", "d", "e", "f")
    assert texts_of(alice) == [["a", "B", "c", "d", "e", "f"]]
    exchanged(alice, "a", "B", "e", "f", "g", "h")
    assert texts_of(alice) == [["a", "B", "e", "f", "g", "h"]]


@pytest.mark.parametrize("deleted", [slice(2, 4), slice(4, 6)])
def test_an_edit_next_to_a_deletion_changes_the_edited_message(alice: User, deleted: slice) -> None:
    texts = ["Hi", "Hello.", "Who lives in the lighthouse?", "Nobody does.", "Then who keeps the lamp?", "The wind."]
    texts += ["And where is the key?", "Under the stone."]
    chats = [exchanged(alice, *texts[:end]) for end in range(2, len(texts) + 1, 2)]
    edited = [f"{text} I wonder." if 2 <= place < 6 else text for place, text in enumerate(texts)]
    ids = list(Message.objects.for_owner(alice).order_by("index").values_list("pk", flat=True))
    del edited[deleted]
    del ids[deleted]
    exchanged(alice, *edited, "Thanks.", "Welcome.", named=chats[-1].pk)
    assert texts_of(alice) == [[*edited, "Thanks.", "Welcome."]]
    assert list(Message.objects.for_owner(alice).order_by("index").values_list("pk", flat=True))[:-2] == ids


def test_a_truncated_beginning_finds_its_chat_and_keeps_it(alice: User) -> None:
    texts = [f"text {number}" for number in range(20)]
    chats = {exchanged(alice, *texts[:end]).pk for end in range(2, 21, 2)}
    chats.add(sent(alice, *texts[10:], "more").chat.pk)
    assert len(chats) == 1
    assert texts_of(alice) == [[*texts, "more"]]


def test_another_user_with_the_same_words_gets_a_chat_of_their_own(alice: User) -> None:
    bob = UserFactory()
    first = exchanged(alice, "a", "b")
    second = sent(bob, "a", "b", "c").chat
    assert first.pk != second.pk
    assert (texts_of(alice), texts_of(bob)) == ([["a", "b"]], [["a", "b", "c"]])


def test_equal_first_words_under_another_system_prompt_begin_another_chat(alice: User) -> None:
    exchanged(alice, "Hi", "I am Mira.", opening="You are Mira.")
    exchanged(alice, "Hi", "I am Tom.", opening="You are Tom.")
    assert texts_of(alice) == [["Hi", "I am Mira."], ["Hi", "I am Tom."]]


def test_a_conversation_with_some_words_in_common_leaves_the_other_as_it_is(alice: User) -> None:
    first = exchanged(alice, "Hello", "Hi there.", "Tell me a story.", "Once there was a well.")
    second = exchanged(alice, "Hello", "Good evening.", "Continue", "With what?")
    exchanged(alice, "Hello", "Hi there.", "Tell me a story.", "Once there was a well.", "Continue", "It was dry.")
    assert first.pk != second.pk
    assert texts_of(alice) == [
        ["Hello", "Hi there.", "Tell me a story.", "Once there was a well.", "Continue", "It was dry."],
        ["Hello", "Good evening.", "Continue", "With what?"],
    ]


def test_turns_written_on_the_page_are_kept(alice: User) -> None:
    chat = exchanged(alice, "a", "b")
    append_messages(alice, chat.pk, [parsed("p", is_user=True), parsed("q")])
    exchanged(alice, "a", "b", "c", "d")
    exchanged(alice, "a", "b", "c", "d", "e", "f")
    assert texts_of(alice) == [["a", "b", "p", "q", "c", "d", "e", "f"]]


def test_turns_of_the_page_that_the_client_sends_later_stand_once(alice: User) -> None:
    chat = exchanged(alice, "a", "b")
    append_messages(alice, chat.pk, [parsed("p", is_user=True), parsed("q")])
    exchanged(alice, "a", "b", "p", "q", "c", "d")
    assert texts_of(alice) == [["a", "b", "p", "q", "c", "d"]]


@pytest.mark.parametrize("is_named", [False, True])
def test_an_edit_on_the_page_is_not_taken_back(alice: User, is_named: bool) -> None:
    chat = exchanged(alice, "a", "The well is north.")
    patched(chat, 1, values={"mes": "The well is SOUTH."})
    exchanged(alice, "a", "The well is north.", "c", "d", **({"named": chat.pk} if is_named else {}))
    assert texts_of(alice) == [["a", "The well is SOUTH.", "c", "d"]]


def test_a_message_that_both_edited_has_both_texts(alice: User) -> None:
    chat, texts = long_chat(alice, 8)
    patched(chat, 3, values={"mes": "by the page"})
    exchanged(alice, *texts[:3], "by the client", *texts[4:], "c", "d")
    assert {"by the page", "by the client"} <= swipes_of(alice)


def test_a_message_edited_on_the_page_is_not_deleted_by_a_client_that_never_saw_it(alice: User) -> None:
    chat, texts = long_chat(alice, 8)
    patched(chat, 3, values={"mes": "by the page"})
    exchanged(alice, *texts[:2], *texts[4:], "c", "d")
    assert "by the page" in texts_of(alice)[0]


def test_a_swipe_that_the_page_changed_does_not_replace_another_one(alice: User) -> None:
    chat = exchanged(alice, "a", "first")
    exchanged(alice, "a", "second")
    swipe = Swipe.objects.for_owner(alice).get(mes="first")
    Swipe.objects.for_owner(alice).filter(pk=swipe.pk).update(mes="first, by the page")
    exchanged(alice, "a", "first", "c", "d", named=chat.pk)
    assert {"first", "first, by the page", "second"} <= swipes_of(alice)
    assert texts_of(alice) == [["a", "first", "c", "d"]]


@pytest.mark.parametrize("is_named", [False, True])
def test_of_two_replies_with_an_equal_swipe_the_one_after_the_sent_message_shows_it(
    alice: User, is_named: bool
) -> None:
    for texts in (["a", REFUSAL], ["a", "b"], ["a", "b", "c", REFUSAL], ["a", "b", "c", "d"]):
        chat = exchanged(alice, *texts)
    exchanged(alice, "c", REFUSAL, "e", "f", **({"named": chat.pk} if is_named else {}))
    assert texts_of(alice) == [["a", "b", "c", REFUSAL, "e", "f"]]


def test_of_two_replies_with_an_equal_swipe_the_older_one_shows_it_if_the_client_goes_on_from_there(
    alice: User,
) -> None:
    for texts in (["a", REFUSAL], ["a", "b"], ["a", "b", "c", REFUSAL], ["a", "b", "c", "d"]):
        chat = exchanged(alice, *texts)
    exchanged(alice, "a", REFUSAL, "e", "f", named=chat.pk)
    assert texts_of(alice) == [["a", REFUSAL, "e", "f"]]


@pytest.mark.parametrize("is_named", [False, True])
def test_a_swipe_that_an_earlier_reply_shows_is_shown_by_the_one_after_the_sent_message(
    alice: User, is_named: bool
) -> None:
    for texts in (["a", REFUSAL], ["a", REFUSAL, "c", REFUSAL], ["a", REFUSAL, "c", "d"]):
        chat = exchanged(alice, *texts)
    exchanged(alice, "c", REFUSAL, "e", "f", **({"named": chat.pk} if is_named else {}))
    assert texts_of(alice) == [["a", REFUSAL, "c", REFUSAL, "e", "f"]]


def test_several_replies_may_show_equal_swipes(alice: User) -> None:
    for texts in (["a", REFUSAL], ["a", "b"], ["a", "b", "c", REFUSAL], ["a", "b", "c", "d"]):
        exchanged(alice, *texts)
    exchanged(alice, "a", REFUSAL, "c", REFUSAL, "e", "f")
    assert texts_of(alice) == [["a", REFUSAL, "c", REFUSAL, "e", "f"]]
    assert {"b", "d"} <= swipes_of(alice)


def test_a_reply_that_is_rewritten_to_an_earlier_ones_swipe_is_not_that_one(alice: User) -> None:
    for texts in (["a", REFUSAL], ["a", "b"], ["a", "b", "c", "d"]):
        chat = exchanged(alice, *texts)
    exchanged(alice, "c", REFUSAL, "e", "f", named=chat.pk)
    assert texts_of(alice) == [["a", "b", "c", REFUSAL, "e", "f"]]


def test_what_one_client_never_had_is_not_deleted_by_it(alice: User) -> None:
    chat, texts = long_chat(alice, 8, client="desk")
    exchanged(alice, *texts, "c", "d", client="phone")
    exchanged(alice, *texts, "e", "f", client="desk", named=chat.pk)
    exchanged(alice, *texts, "c", "d", "g", "h", client="phone", named=chat.pk)
    assert texts_of(alice) == [[*texts, "c", "d", "e", "f", "g", "h"]]


def test_a_client_deletes_what_it_had_of_another_one(alice: User) -> None:
    chat, texts = long_chat(alice, 8, client="desk")
    exchanged(alice, *texts, "c", "d", client="phone", named=chat.pk)
    exchanged(alice, *texts[:2], *texts[4:], "c", "d", "e", "f", client="phone", named=chat.pk)
    exchanged(alice, *texts[:2], *texts[4:], "c", "d", "e", "f", "g", "h", client="desk", named=chat.pk)
    assert texts_of(alice) == [[*texts[:2], *texts[4:], "c", "d", "e", "f", "g", "h"]]


def test_few_clients_of_a_chat_are_known_at_a_time(alice: User) -> None:
    chat, texts = long_chat(alice, 4)
    for number in range(MAX_CLIENTS + 3):
        sent(alice, *texts, "more", named=chat.pk, client=str(number))
    clients = ProxiedChat.objects.for_owner(alice).filter(chat=chat).values_list("client", flat=True)
    assert set(clients) == {str(number) for number in range(3, MAX_CLIENTS + 3)}
    assert texts_of(alice) == [[*texts, "more"]]


def test_what_was_deleted_on_the_page_does_not_come_back(alice: User) -> None:
    chat, texts = long_chat(alice, 6)
    patched(chat, 2, 3, delete=True)
    exchanged(alice, *texts, "c", "d")
    exchanged(alice, *texts, "c", "d", "e", "f")
    assert texts_of(alice) == [[*texts[:2], *texts[4:], "c", "d", "e", "f"]]


@pytest.mark.parametrize("is_named", [False, True])
def test_hidden_messages_stand_once_and_stay_hidden(alice: User, is_named: bool) -> None:
    chat, texts = long_chat(alice, 10)
    patched(chat, *range(6), values={"is_system": True})
    options = {"named": chat.pk} if is_named else {}
    exchanged(alice, *texts, "c", "d", **options)
    exchanged(alice, *texts[6:], "c", "d", "e", "f", **options)
    assert texts_of(alice) == [[*texts, "c", "d", "e", "f"]]
    assert Message.objects.for_owner(alice).filter(is_system=True).count() == 6


@pytest.mark.parametrize("is_named", [False, True])
def test_a_client_that_leaves_out_the_middle_deletes_nothing(alice: User, is_named: bool) -> None:
    chat, texts = long_chat(alice, 20)
    options = {"named": chat.pk} if is_named else {}
    exchanged(alice, *texts[:2], *texts[12:], "c", "d", **options)
    exchanged(alice, *texts[:2], *texts[14:], "c", "d", "e", "f", **options)
    assert texts_of(alice) == [[*texts, "c", "d", "e", "f"]]


def test_a_named_chat_of_which_the_client_sends_one_old_line_is_kept(alice: User) -> None:
    chat, texts = long_chat(alice, 12)
    exchanged(alice, texts[0], "Hello.", named=chat.pk)
    for _ in range(2):
        exchanged(alice, texts[0], "Hello.", "And now?", "Now.", named=chat.pk)
    assert texts_of(alice) == [texts, [texts[0], "Hello.", "And now?", "Now."]]


def test_a_client_may_say_that_all_it_leaves_out_is_deleted(alice: User) -> None:
    chat, texts = long_chat(alice, 12)
    exchanged(alice, *texts[:3], "d", named=chat.pk, follows=True)
    assert texts_of(alice) == [[*texts[:3], "d"]]


@pytest.mark.parametrize("has_characters", [False, True])
def test_characters_with_the_same_words_have_chats_of_their_own(alice: User, has_characters: bool) -> None:
    for name in ("Mira", "Tom"):
        options: dict[str, Any] = {"opening": f"You are {name}."}
        options |= {"character": make_character(alice, name)} if has_characters else {}
        exchanged(alice, "Hi", f"I am {name}.", **options)
        exchanged(alice, "Hi", f"I am {name}.", "How are you?", f"{name} is fine.", **options)
    assert texts_of(alice) == [["Hi", f"I am {name}.", "How are you?", f"{name} is fine."] for name in ("Mira", "Tom")]


def test_a_new_chat_with_the_first_words_of_another_leaves_it_as_it_is(alice: User) -> None:
    exchanged(alice, "Hi", "Hello.")
    exchanged(alice, "Hi", "Hello.", "How are you?", "Well.")
    exchanged(alice, "Hi", "Good evening.")
    exchanged(alice, "Hi", "Good evening.", "How are you?", "Tired.")
    assert {"Hello.", "Well.", "Good evening.", "Tired."} <= swipes_of(alice)


def test_a_chat_that_the_client_names_first_is_continued(alice: User) -> None:
    chat = make_chat(alice, "a", "b", "c", "d")
    exchanged(alice, "a", "b", "c", "d", "e", "f", named=chat.pk)
    assert texts_of(alice) == [["a", "b", "c", "d", "e", "f"]]


def test_a_chat_in_the_bin_is_not_continued(alice: User) -> None:
    delete_chat(exchanged(alice, "a", "b"))
    sent(alice, "a", "b", "c")
    assert texts_of(alice) == [["a", "b", "c"]]


def test_a_new_chat_has_the_title_and_the_name_of_its_character(alice: User) -> None:
    chat = exchanged(alice, "a", "b", character=make_character(alice, "Mira"))
    assert chat.title == "Mira"
    assert Message.objects.for_owner(alice).get(index=1).name == "Mira"
    assert exchanged(alice, "Where is the old lighthouse?", "There.").title == "Where is the old lighthouse?"


def test_a_reply_that_comes_after_the_next_turn_stands_before_it(alice: User) -> None:
    first = sent(alice, "a")
    store_request(alice, [Turn(True, "a"), Turn(True, "c")], opening="", named=first.chat.pk)
    store_reply(first, CollectedReply("b"))
    assert texts_of(alice) == [["a", "b", "c"]]


def test_a_reply_is_stored_although_the_database_fails_for_a_moment(alice: User, monkeypatch: Any) -> None:
    stored, errors = sent(alice, "a"), [error_of(psycopg.errors.DeadlockDetected), error_of(psycopg.OperationalError)]

    def failing(*args: Any) -> None:
        if errors:
            raise errors.pop()
        store_reply(*args)

    monkeypatch.setattr(calls, "store_reply", failing)
    monkeypatch.setattr(calls, "connections", SimpleNamespace(close_all=lambda: None))
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    policy: Any = None
    calls.finish_call(calls.UpstreamCall(alice.pk, policy, "", body, stored), CollectedReply("b"))
    assert texts_of(alice) == [["a", "b"]]


def test_a_reply_is_stored_although_its_client_has_gone_and_the_request_has_ended(alice: User) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    policy: Any = None
    call = calls.UpstreamCall(alice.pk, policy, "", body, sent(alice, "a"))
    with restricted_to(None):
        calls.finish_call(call, CollectedReply("b"))
    assert texts_of(alice) == [["a", "b"]]
    assert Usage.objects.for_owner(alice).count() == 1


def error_of(cause: type[Exception]) -> OperationalError:
    error = OperationalError()
    error.__cause__ = cause()
    return error


def test_a_message_that_is_deleted_while_chats_are_compared_is_none_of_them(alice: User, monkeypatch: Any) -> None:
    chat, read = exchanged(alice, "a", "b", "c", "d", client="one"), comparing._shown_keys

    def delete_first(*args: Any) -> dict[Any, int]:
        monkeypatch.setattr(comparing, "_shown_keys", read)
        patched(chat, 1, delete=True)
        return read(*args)

    monkeypatch.setattr(comparing, "_shown_keys", delete_first)
    sent(alice, "a", "b", "c", "d", "e", named=chat.pk, client="two")
    assert texts_of(alice)[0][-3:] == ["c", "d", "e"]


def test_a_chat_that_is_put_into_the_bin_while_it_is_found_is_not_continued(alice: User, monkeypatch: Any) -> None:
    chat, find = exchanged(alice, "a", "b"), requests.find_chat

    def find_and_delete(*args: Any) -> Any:
        monkeypatch.setattr(requests, "find_chat", find)
        found = find(*args)
        delete_chat(chat)
        return found

    monkeypatch.setattr(requests, "find_chat", find_and_delete)
    assert sent(alice, "a", "b", "c").chat != chat
    assert texts_of(alice) == [["a", "b", "c"]]


def test_a_reply_to_a_turn_that_was_deleted_is_dropped(alice: User) -> None:
    stored = sent(alice, "a")
    Message.objects.for_owner(alice).filter(pk=stored.anchor).delete()
    store_reply(stored, CollectedReply("b"))
    assert texts_of(alice) == [[]]


def test_the_same_reply_twice_is_stored_once(alice: User) -> None:
    exchanged(alice, "a", "b")
    exchanged(alice, "a", "b")
    assert Message.objects.for_owner(alice).get(index=1).swipes.count() == 1


def test_a_continued_reply_grows(alice: User) -> None:
    exchanged(alice, "a", "Once upon")
    replied(sent(alice, "a", "Once upon"), " a time")
    assert texts_of(alice) == [["a", "Once upon a time"]]


@pytest.mark.parametrize("joint", ["", " ", "\n", "\n\n"])
def test_a_continuation_stays_the_same_message_however_the_client_joins_it(alice: User, joint: str) -> None:
    exchanged(alice, "a", "Not this.")
    exchanged(alice, "a", "Once upon")
    replied(sent(alice, "a", "Once upon"), "a time")
    whole = f"Once upon{joint}a time"
    replied(sent(alice, "a", whole), "there was")
    exchanged(alice, "a", f"{whole}{joint}there was", "c", "d")
    assert texts_of(alice) == [["a", f"{whole}{joint}there was", "c", "d"]]
    assert swipes_of(alice) == {"a", "Not this.", f"{whole}{joint}there was", "c", "d"}


def test_a_continuation_of_which_the_client_shows_another_swipe_is_found_again(alice: User) -> None:
    exchanged(alice, "a", "Once upon")
    replied(sent(alice, "a", "Once upon"), "a time")
    exchanged(alice, "a", "Not this.")
    exchanged(alice, "a", "Once upon a time", "c", "d")
    assert texts_of(alice) == [["a", "Once upon a time", "c", "d"]]
    assert swipes_of(alice) == {"a", "Not this.", "Once upon a time", "c", "d"}


def test_a_sentence_that_continues_a_sentence_is_set_off(alice: User) -> None:
    exchanged(alice, "a", "He left.")
    replied(sent(alice, "a", "He left."), "She stayed.")
    assert texts_of(alice) == [["a", "He left. She stayed."]]


def test_two_equal_continuations_at_once_are_stored_once(alice: User) -> None:
    exchanged(alice, "a", "Once upon")
    first, second = sent(alice, "a", "Once upon"), sent(alice, "a", "Once upon")
    replied(first, " a time")
    replied(second, " a time")
    assert texts_of(alice) == [["a", "Once upon a time"]]


def test_two_different_continuations_at_once_are_two_swipes(alice: User) -> None:
    exchanged(alice, "a", "Once upon")
    first, second = sent(alice, "a", "Once upon"), sent(alice, "a", "Once upon")
    replied(first, " a time")
    replied(second, " a hill")
    assert swipes_of(alice) == {"a", "Once upon a time", "Once upon a hill"}


def test_a_continuation_that_fails_when_it_is_regenerated_keeps_the_first(alice: User) -> None:
    exchanged(alice, "a", "Once upon")
    replied(sent(alice, "a", "Once upon"), " a time")
    sent(alice, "a", "Once upon")
    assert "Once upon a time" in swipes_of(alice)


def test_a_reply_to_a_turn_of_audio_is_a_message_of_its_own(alice: User) -> None:
    exchanged(alice, "a", "b")
    audio = {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}}
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    stored = store_request(alice, turns_of([*messages, {"role": "user", "content": [audio]}]), opening="")
    replied(stored, "c")
    assert texts_of(alice) == [["a", "b", "[audio]", "c"]]


def test_a_nudge_for_another_speaker_gets_a_message_of_its_own(alice: User) -> None:
    exchanged(alice, "a", "I am Mira.")
    for _ in range(2):
        replied(sent(alice, "a", "I am Mira.", is_nudged=True), "I am Tom.")
    assert texts_of(alice) == [["a", "I am Mira.", "I am Tom."]]


def test_the_models_reasoning_in_a_clients_history_is_not_stored(alice: User) -> None:
    exchanged(alice, "a", "The key is here.")
    messages = [("user", "a"), ("assistant", "<think>I stole it.</think>The key is here."), ("user", "c")]
    replied(store_request(alice, turns_of([{"role": r, "content": t} for r, t in messages]), opening=""), "d")
    assert texts_of(alice) == [["a", "The key is here.", "c", "d"]]


def test_a_function_of_the_older_form_and_its_result_are_no_text() -> None:
    call = {"name": "roll", "arguments": "{}"}
    turns = turns_of(
        [
            {"role": "user", "content": "Roll."},
            {"role": "assistant", "content": None, "function_call": call},
            {"role": "function", "name": "roll", "content": "6"},
            {"role": "assistant", "content": "A six!"},
        ]
    )
    assert turns == [Turn(True, "Roll."), Turn(False, "A six!", ({"function": call, "result": "6"},))]


def test_a_repeated_request_with_tools_writes_nothing(alice: User) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "roll", "arguments": "{}"}}
    turns = [Turn(True, "roll"), Turn(False, "A four.", ({**call, "result": "4"},)), Turn(True, "again")]
    store_request(alice, turns, opening="")
    before = Chat.objects.for_owner(alice).get().rev
    store_request(alice, turns, opening="")
    assert Chat.objects.for_owner(alice).get().rev == before


@pytest.mark.parametrize(
    "body", [b"", b"data: {", b"<html>", b'{"choices": 5}', b'{"choices": [{"message": 5}]}', b"\xff"]
)
def test_a_malformed_reply_is_an_empty_partial_one(body: bytes) -> None:
    assert collected_reply(body) == CollectedReply("", is_partial=True)


def test_calls_of_tools_are_collected_from_their_pieces() -> None:
    def event(call: str) -> bytes:
        return b'data: {"choices":[{"index":0,"delta":{"tool_calls":[' + call.encode() + b"]}}]}\n\n"

    body = event('{"index":0,"id":"c1","function":{"name":"roll","arguments":"{\\"a\\""}}')
    body += event('{"index":0,"function":{"arguments":":1}"}}')
    assert collected_reply(body).tools == ({"id": "c1", "name": "roll", "arguments": '{"a":1}'},)


def test_ollama_is_called_by_its_openai_compatible_api() -> None:
    assert base_url(Connection(backend="ollama", base_url="http://localhost:11434/api")) == "http://localhost:11434/v1"
    assert base_url(Connection(backend="openai", base_url="http://localhost:1234")) == "http://localhost:1234/v1"
