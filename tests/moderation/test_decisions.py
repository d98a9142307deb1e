"""The day of a moderator: each decision on each kind of thing, in a chat as a client exports it."""

import base64
import io
import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.chats.operations import branch_chat
from apps.chats.operations.lorebooks import create_lorebook
from apps.chats.operations.personas import create_persona
from apps.moderation.models import Action, Case
from apps.prompts.turns import spoken_turns_newest_first
from tests.contract.conftest import client_of
from tests.contract.test_personas import photo
from tests.factories import UserFactory, make_character, make_memory
from tests.lanes import paired, sampled
from tests.moderation.conftest import signed_in

IMAGE = f"data:image/jpeg;base64,{base64.b64encode(photo()).decode()}"
HEADER = {"user_name": "Alice", "character_name": "Mira", "create_date": "2024-07-12@01h31m37s123ms"}
SEND_DATES = [
    "2024-07-12T01:32:00.000Z",
    "July 12, 2024 1:33am",
    "2024-7-12 @01h 34m 10s 120ms",
    1720748100000,
    1720748160,
    1720748220.25,
    {"at": "2024-07-12", "by": ["me"]},
    None,
    "",
]
BOOK = {"name": "Places", "entries": [{"keys": ["well"], "content": "A body lies in the well.", "enabled": True}]}
TEXTS = {
    "message": "Turn 3",
    "character": "She hides a letter.",
    "memory": "It is in the well.",
    "persona": "She carries a knife.",
    "lorebook": "A body lies in the well.",
}
DECISIONS = {"dismiss": {}, "hide": {}, "suspend": {"also_hide": "on"}, "ban": {"also_hide": "on"}}


def line(number: int, send_date: Any) -> dict[str, Any]:
    texts = [f"Turn {number}, at first.", f"Turn {number}. ![A map]({IMAGE})"]
    swipes = [{"send_date": send_date, "extra": {"image": IMAGE, "inline_image": True}}] * 2
    said = {"name": ("Mira", "Alice")[number % 2], "is_user": bool(number % 2), "is_system": False}
    dated = {"send_date": send_date} if send_date is not None else {}
    more = {"extra": swipes[1]["extra"], "swipes": texts, "swipe_id": 1, "swipe_info": swipes}
    return {**said, **dated, "mes": texts[1], **more}


def imported(api: APIClient) -> Chat:
    lines = [HEADER, *(line(number, send_date) for number, send_date in enumerate(SEND_DATES))]
    file = io.BytesIO("\n".join(json.dumps(one) for one in lines).encode())
    file.name = "heist.jsonl"
    made = api.post("/api/v1/chats/import/", {"file": file}, format="multipart").json()["chats"][0]
    return Chat.objects.for_owner(api.user).get(pk=made["id"])


def message_at(chat: Chat, index: int) -> Message:
    return Message.objects.for_owner(chat.owner_id).get(chat=chat, index=index)


def reported(api: APIClient, kind: str, row: Any) -> Case:
    body = {"kind": kind, "target_id": str(row.pk), "reason": "other", "note": "Look at that."}
    assert api.post("/api/v1/reports/", body, format="json").status_code == 201
    return Case.objects.for_owner(api.user).get(target_id=row.pk)


def told(chat: Chat) -> list[str]:
    """Return what a model is told of a chat, by the first words of each turn."""
    return sorted(turn.mes[:6] for turn in spoken_turns_newest_first(chat))


def things(chat: Chat) -> dict[str, Any]:
    """Return one of each kind."""
    return {
        "message": message_at(chat, 3),
        "character": make_character(chat.owner, "Mira", description=TEXTS["character"]),
        "memory": make_memory(chat, TEXTS["memory"]),
        "persona": create_persona(chat.owner, name="Alicia", description=TEXTS["persona"]),
        "lorebook": create_lorebook(chat.owner, name="Places", chat=chat, document=BOOK),
    }


@pytest.mark.parametrize(("kind", "decision"), paired(TEXTS, DECISIONS))
def test_each_kind_of_thing_is_looked_at_decided_and_given_back(
    alice: User, administrator: User, kind: str, decision: str
) -> None:
    api, desk = client_of(alice), signed_in(administrator)
    row = things(imported(api))[kind]
    case = reported(api, kind, row)
    page = f"/admin/moderation/case/{case.pk}/"

    def do(action: str, **form: Any) -> str:
        reply = desk.post(f"{page}do/{action}/", form, follow=True)
        assert reply.status_code == 200
        case.refresh_from_db()
        row.refresh_from_db()
        return reply.content.decode()

    assert str(case.pk) in desk.get("/admin/moderation/case/").content.decode()
    assert "Look at that." in desk.get(f"{page}change/").content.decode()
    do("claim")
    assert TEXTS[kind] in do("look", reason="")
    do("decide", decision=decision, reason="It is against rule 3.", days=3, **DECISIONS[decision])
    hides = decision != "dismiss"
    assert (case.decision, case.hides, row.withheld) == (decision, hides, hides)
    notices = signed_in(User.objects.get(pk=alice.pk)).get("/settings/moderation/")
    assert notices.status_code == (302 if decision == "ban" else 200)
    if hides:
        do("reverse", reason="So be it.")
        assert (case.decision, row.withheld) == ("reverse", False)
        owner = User.objects.get(pk=alice.pk)
        assert (owner.is_active, owner.suspended_until) == (True, None)
    verbs = set(Action.objects.filter(case_id=case.pk).values_list("verb", flat=True))
    assert {"claim", "look"} < verbs


@pytest.mark.parametrize("index", sampled(range(len(SEND_DATES)), 3))
def test_a_message_is_hidden_with_its_copies_however_its_moment_is_written(
    alice: User, moderator: User, index: int
) -> None:
    api, desk = client_of(alice), signed_in(moderator)
    chat, others = imported(api), imported(client_of(UserFactory()))
    everything = told(chat)
    branch = branch_chat(alice, chat.pk, len(SEND_DATES) - 1)
    case = reported(api, "message", message_at(chat, index))
    desk.post(f"/admin/moderation/case/{case.pk}/do/decide/", {"decision": "hide", "reason": "Rule 3.", "days": 1})
    visible = [text for text in everything if text != f"Turn {index}"]
    assert told(chat) == told(branch) == visible
    assert told(others) == everything
    assert "Moderators have hidden" in signed_in(alice).get(f"/chats/{chat.pk}/").content.decode()
    desk.post(f"/admin/moderation/case/{case.pk}/do/reverse/", {"reason": "So be it."})
    assert told(chat) == told(branch) == everything
