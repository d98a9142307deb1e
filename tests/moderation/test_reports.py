"""Users report what they see, and learn what was decided and who looked."""

import pytest
from django.core import mail

from apps.accounts.models import User
from apps.chats.models import Character, Chat, Message
from apps.chats.operations import branch_chat
from apps.common.problems import Conflict
from apps.memories.models import Memory
from apps.memories.operations import NewMemory, create_memory
from apps.moderation.models import Case, Notice, Report
from apps.moderation.operations.decisions import decide, reverse
from apps.moderation.operations.looks import look_at_case
from apps.moderation.operations.notices import answer
from apps.moderation.operations.reports import report
from apps.moderation.targets import find_target
from apps.moderation.tasks import send_notice
from apps.prompts.turns import spoken_turns_newest_first
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_character, make_chat
from tests.moderation.conftest import SECRET, signed_in
from tests.prompts.requests import assemble_whole


def test_a_message_is_reported_from_its_menu(alice: User, message: Message) -> None:
    page = f"/chats/{message.chat_id}/messages/{message.pk}/report/"
    browser = signed_in(alice)
    assert page in browser.get(f"/chats/{message.chat_id}/messages/{message.pk}/tools/").content.decode()
    for reason in ("no such", ""):  # nothing is chosen for them
        assert browser.post(page, {"reason": reason, "note": "Look."}).status_code == 400
    browser.post(page, {"reason": "violence", "note": "It is too much."})
    case = Case.objects.for_owner(alice).get()
    assert (case.kind, case.target_id, case.chat_id) == ("message", message.pk, message.chat_id)
    assert "It is too much." in browser.get("/settings/moderation/").content.decode()


def test_a_program_reports_a_character_once(alice: User) -> None:
    api, character = client_of(alice), make_character(alice)
    body = {"kind": "character", "target_id": str(character.pk), "reason": "minors"}
    made = api.post("/api/v1/reports/", body, format="json")
    assert (made.status_code, made.json()["state"]) == (201, "open")
    assert api.post("/api/v1/reports/", body, format="json").status_code == 409
    assert [found["id"] for found in api.get("/api/v1/reports/").json()["results"]] == [made.json()["id"]]
    for field, value in (("kind", "chat"), ("target_id", "x"), ("reason", ""), ("note", "x" * 2001)):
        refused = api.post("/api/v1/reports/", {**body, field: value}, format="json")
        assert refused.status_code == 400
        assert f"/{field}" in refused.content.decode()


def test_what_one_cannot_see_cannot_be_reported(alice: User, message: Message) -> None:
    stranger = client_of(UserFactory())
    body = {"kind": "message", "target_id": str(message.pk), "reason": "other"}
    assert stranger.post("/api/v1/reports/", body, format="json").status_code == 404
    assert not Report.objects.for_owner(alice).exists()


def test_the_owner_learns_the_decision_and_answers_once(alice: User, case: Case, moderator: User) -> None:
    look_at_case(moderator, case.pk)
    decide(moderator, case.pk, "hide", reason="It is against rule 3.")
    browser = signed_in(alice)
    shown = browser.get("/settings/moderation/").content.decode()
    assert "It is against rule 3." in shown
    assert "A moderator opened a message of yours" in shown
    assert moderator.email not in shown
    notice = Notice.objects.for_owner(alice).get(is_about_report=False)
    browser.post(f"/settings/moderation/notices/{notice.pk}/answer/", {"text": " It is a quotation. "})
    case.refresh_from_db()
    assert case.is_answered
    assert "It is a quotation." in browser.get("/settings/moderation/").content.decode()
    with pytest.raises(Conflict):
        answer(alice, notice.pk, "And another thing.")
    reverse(moderator, case.pk, reason="So it is.")
    case.refresh_from_db()
    assert (case.hides, case.is_answered, case.decision) == (False, False, "reverse")
    notices = client_of(alice).get("/api/v1/notices/").json()["results"]
    assert [found["decision"] for found in notices] == ["reverse", "hide"]


def test_a_hidden_message_says_so_in_its_chat(alice: User, case: Case, moderator: User) -> None:
    browser = signed_in(alice)
    assert "Moderators have hidden" not in browser.get(f"/chats/{case.chat_id}/").content.decode()
    decide(moderator, case.pk, "hide", reason="It is against rule 3.")
    assert "Moderators have hidden" in browser.get(f"/chats/{case.chat_id}/").content.decode()


def test_a_notice_is_mailed(alice: User, case: Case, moderator: User) -> None:
    decide(moderator, case.pk, "dismiss", reason="Nothing is wrong with it.")
    notice = Notice.objects.for_owner(alice).get()
    send_notice(notice_id=str(notice.pk))
    (sent,) = mail.outbox
    assert sent.to == ["alice@example.com"]
    assert notice.text in sent.body


def test_after_a_decision_a_thing_can_be_reported_again(alice: User, case: Case, moderator: User) -> None:
    decide(moderator, case.pk, "dismiss", reason="Nothing is wrong with it.")
    again = report(alice, find_target(alice, "message", case.target_id), reason="privacy")
    assert again.case_id != case.pk


def test_models_get_nothing_that_is_hidden_whatever_its_owner_does(
    alice: User, chat: Chat, case: Case, moderator: User
) -> None:
    memory = create_memory(alice, NewMemory("It is in the well.", "long_term", "fact", chat=chat), editor="alice")
    about_memory = report(alice, find_target(alice, "memory", memory.pk), reason="other").case
    for one in (case, about_memory):
        decide(moderator, one.pk, "hide", reason="It is against rule 3.")

    def told() -> list[str]:
        messages = Message.objects.for_owner(alice).filter(chat=chat)
        said = [turn.mes for turn in spoken_turns_newest_first(chat)]
        active = Memory.objects.for_owner(alice).active().filter(hidden=False).values_list("text", flat=True)
        return [*said, *(message.mes for message in messages.remembered().with_swipes()), *active]

    assert SECRET not in told()
    assert "It is in the well." not in told()
    api = client_of(alice)
    assert api.patch(f"/api/v1/memories/{memory.pk}/", {"hidden": False}, format="json").status_code == 409
    integrity = chat.integrity
    for is_system in (True, False):
        body = {"integrity": str(integrity), "patches": [{"index": 1, "set": {"is_system": is_system}}]}
        integrity = api.post(f"/api/v1/chats/{chat.pk}/patch/", body, format="json").json()["integrity"]
    assert SECRET not in told()
    branch = Chat.objects.for_owner(alice).get(pk=branch_chat(alice, chat.pk, 2).pk)
    assert SECRET not in [turn.mes for turn in spoken_turns_newest_first(branch)]
    assert SECRET in signed_in(alice).get(f"/chats/{chat.pk}/").content.decode()
    for one in (case, about_memory):
        reverse(moderator, one.pk, reason="So be it.")
    assert SECRET in told()
    assert "It is in the well." in told()


def test_the_card_of_a_hidden_character_is_not_in_the_prompt(alice: User, moderator: User) -> None:
    character = make_character(alice, "Mira")
    Character.objects.for_owner(alice).filter(pk=character.pk).update(description="She hides a letter.")
    chat = make_chat(alice, "Hello.", character=character)

    def prompt() -> str:
        return str(assemble_whole(Chat.objects.for_owner(alice).get(pk=chat.pk), context_tokens=4000).messages)

    assert "She hides a letter." in prompt()
    about = report(alice, find_target(alice, "character", character.pk), reason="other").case
    decide(moderator, about.pk, "hide", reason="It is against rule 3.")
    assert "She hides a letter." not in prompt()
    reverse(moderator, about.pk, reason="So be it.")
    assert "She hides a letter." in prompt()
