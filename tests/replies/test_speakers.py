"""Names of speakers: in a group's history, and at the beginning of a reply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.chats.models import Lorebook, Message
from apps.chats.operations import add_participant, append_messages, update_participant
from apps.replies.models import Generation
from apps.replies.operations import answer_sent, request_generation, settle
from apps.replies.speakers import position_in_turn, without_name
from apps.replies.tasks import run_generation
from tests.factories import make_character, parsed


@pytest.fixture
def group(alice, chat):
    """Mira and Salt, with Alice; Salt spoke last."""
    for name in ("Mira", "Salt"):
        character = make_character(alice, name, description=f"The card of {name}.")
        add_participant(alice, chat.pk, name=name, character=character)
    return append_messages(alice, chat.pk, [parsed("I know.", name="Salt")]).chat


def messages_of(api, chat, **body):
    shown = api.post(f"/api/v1/chats/{chat.pk}/prompt/preview/", body, format="json").json()
    return [(message["role"], message["content"]) for message in shown["messages"]]


def test_in_a_group_the_model_sees_who_speaks(api, group):
    spoken = [
        ("user", "Alice: Where is the well?"),
        ("assistant", "Mira: Over there."),
        ("user", "Alice: Show me."),
        ("assistant", "Salt: I know."),
    ]
    assert messages_of(api, group)[-4:] == spoken
    assert messages_of(api, group, text="Now?")[-5:] == [*spoken, ("user", "Alice: Now?")]


def test_with_one_character_the_history_is_as_it_was_written(api, chat):
    assert messages_of(api, chat)[-2:] == [("assistant", "Over there."), ("user", "Show me.")]


def test_the_speakers_name_is_not_stored_with_the_reply(api, connect, server, group):
    connect()
    server.reply_with("Mira: Come.")
    reply = api.post(f"/api/v1/chats/{group.pk}/reply/", {}, format="json").json()["generation"]
    run_generation(generation_id=reply["id"])
    message = Message.objects.for_owner(group.owner_id).filter(chat=group).order_by("-index").first()
    assert (message.name, message.mes) == ("Mira", "Come.")
    assert api.get(f"/api/v1/generations/{reply['id']}/").json()["text"] == "Come."
    assert tuple(server.of_kind("generation")[-1].messages[-1].values()) == ("assistant", "Salt: I know.")


def test_the_users_name_is_not_stored_with_what_the_model_writes_for_them(api, connect, server, chat):
    connect()
    server.reply_with("Alice: I go.")
    reply = api.post(f"/api/v1/chats/{chat.pk}/reply/", {"mode": "impersonate"}, format="json").json()["generation"]
    run_generation(generation_id=reply["id"])
    assert api.get(f"/api/v1/generations/{reply['id']}/").json()["text"] == "I go."


def test_another_reply_to_a_group_is_asked_for_without_the_last_one(api, connect, server, group):
    connect()
    reply = api.post(f"/api/v1/chats/{group.pk}/reply/", {"mode": "swipe"}, format="json").json()["generation"]
    run_generation(generation_id=reply["id"])
    assert server.of_kind("generation")[-1].messages[-1]["content"] == "Alice: Show me."


@pytest.mark.parametrize(
    ("name", "text", "is_named"),
    [
        ("Al", "Also, come.", False),
        ("Al", "What now, Al?", True),
        ("Al", "Also Al.", True),
        ("Ал", "Алло?", False),
        ("राम", "रामायण कहाँ है?", False),
        ("राम", "राम, कहाँ?", True),
        ("علي", "عليكم السلام", False),
        ("美玲", "美玲你好", True),
        ("ミラ", "ミラはどこ", True),
        ("미라", "미라야 어디", True),
    ],
)
def test_a_name_is_a_mention_only_as_a_whole_word(name, text, is_named):
    assert position_in_turn(["Zoe", name], text, "") == int(is_named)


@pytest.mark.parametrize(
    ("text", "last_speaker", "named"),
    [
        ("Ann Lee, what now?", "Tom", "Ann Lee"),
        ("Ann, what now?", "Tom", "Ann"),
        ("I, Ann Lee, ask you, Tom.", "Ann Lee", "Tom"),
        ("Ann Lee asks Ann.", "Ann Lee", "Ann"),
    ],
)
def test_of_two_names_at_one_place_the_longer_one_is_meant(text, last_speaker, named):
    names = ["Ann", "Ann Lee", "Tom"]
    assert names[position_in_turn(names, text, last_speaker)] == named


@pytest.mark.parametrize("mode", ["swipe", "continue"])
def test_another_version_of_a_reply_in_a_group_is_by_its_own_speaker(api, connect, server, group, mode):
    connect()
    reply = api.post(f"/api/v1/chats/{group.pk}/reply/", {"mode": mode}, format="json").json()["generation"]
    run_generation(generation_id=reply["id"])
    sent = str(server.of_kind("generation")[-1].messages)
    assert "The card of Salt." in sent
    assert "The card of Mira." not in sent


def test_who_is_not_in_the_group_cannot_reply(api, alice, connect, group):
    connect()
    spy = make_character(alice, "Spy")
    answer = api.post(f"/api/v1/chats/{group.pk}/reply/", {"character": str(spy.pk)}, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/character")


def test_lore_is_not_found_by_what_the_speaker_did_not_hear(api, alice, group):
    mira, salt = (member.character for member in group.participants.order_by("position"))
    entry = {"keys": ["lantern"], "content": "The lantern is cursed.", "enabled": True}
    for character in (mira, salt):
        Lorebook.objects.create(owner=alice, character=character, document={"entries": [entry]})
    whisper = parsed("Take the lantern.", name="Mira", extra={"loci": {"witnesses": ["Mira"]}})
    append_messages(alice, group.pk, [whisper])
    assert "cursed" in str(messages_of(api, group, character=str(mira.pk)))
    assert "cursed" not in str(messages_of(api, group, character=str(salt.pk)))


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("Mira: Come.", "Mira", "Come."),
        ("\nMira:Come.", "Mira", "Come."),
        ("Miranda: Come.", "Mira", "Miranda: Come."),
        (" and then", "Mira", " and then"),
        ("Mira", "Mira", "Mira"),
        (": Come.", "", ": Come."),
    ],
)
def test_a_name_is_removed_only_with_its_colon(text, name, rest):
    assert without_name(text, name) == rest


@given(st.text(), st.sampled_from(["", "\n", "Mira: ", "Mir", "Mira:"]))
def test_a_text_never_shrinks_while_it_comes(rest, start):
    text, shown = start + rest, ""
    for end in range(len(text) + 1):
        now = without_name(text[:end], "Mira", is_whole=False)
        assert now.startswith(shown)
        shown = now
    assert without_name(text, "Mira").startswith(shown)


def change(group, member, **fields):
    update_participant(group.owner_id, group.pk, group.participants.get(name=member).pk, **fields)


def test_a_renamed_member_keeps_turn_and_card(connect, group):
    """In the order of turns, and for another version of what was said under the old name."""
    connect()
    change(group, "Salt", name="Pepper")
    swipe = request_generation(group.owner_id, group.pk, mode="swipe")
    assert (swipe.speaker, swipe.character.name) == ("Pepper", "Salt")
    Generation.objects.for_owner(group.owner_id).delete()
    change(group, "Pepper", position=0)
    assert request_generation(group.owner_id, group.pk, mode="reply").speaker == "Mira"


def test_who_follows_a_member_that_was_muted_is_next(connect, alice, group):
    connect()
    add_participant(alice, group.pk, name="Tar", character=make_character(alice, "Tar"))
    change(group, "Salt", muted=True)
    assert request_generation(alice, group.pk, mode="reply").speaker == "Tar"


def test_a_group_of_which_everybody_is_muted_says_so(api, connect, group):
    connect()
    for name in ("Mira", "Salt"):
        change(group, name, muted=True)
    refused = api.post(f"/api/v1/chats/{group.pk}/reply/", {}, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "/character")
    assert api.post(f"/api/v1/chats/{group.pk}/prompt/preview/", {}, format="json").status_code == 200
    assert api.post(f"/api/v1/chats/{group.pk}/reply/", {"mode": "impersonate"}, format="json").status_code == 202


def test_a_reply_ends_though_everybody_was_muted_while_the_user_waited_for_another(connect, alice, group):
    connect()
    first = request_generation(alice, group.pk, mode="reply")
    append_messages(alice, group.pk, [parsed("And the key?", is_user=True)])
    answer_sent(alice, group.pk)
    for name in ("Mira", "Salt"):
        change(group, name, muted=True)
    Generation.objects.for_owner(alice).update(state="succeeded")
    first.refresh_from_db()
    settle(first)
    first.refresh_from_db()
    assert (first.settled, Generation.objects.for_owner(alice).count()) == (True, 1)
