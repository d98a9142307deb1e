"""Every page passes axe-core and fits the window, light at a desk and dark on a phone: of a filled, an empty and no
account, the former two in German, whose words are longer."""

import re
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import add_participant
from apps.extraction.prompts.tasks import TASKS
from apps.injection.prompts.assembly import assemble
from apps.injection.settings.stores import INJECTION_SETTINGS
from apps.llm.operations import create_connection, use_for
from apps.memories.operations.knowledge import create_knowledge
from apps.memories.operations.ledger import set_field_by_hand
from apps.memories.operations.relationships import set_relationship
from apps.replies.models import Generation
from apps.replies.presets import create_preset
from tests.contract.test_owner_scope import things_of_alice
from tests.e2e.test_journal import PERIODS, fill_journal
from tests.e2e.walk import pages_of, prepare, sign_in, troubles_on
from tests.factories import make_character, make_chat, make_memory

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

MAIN = re.compile(r"<main.*</main>", re.DOTALL)
# What differs each time that a page is rendered.
KEYS = re.compile(r'[0-9a-f]{8}-[0-9a-f-]{27}|(?<=name="csrfmiddlewaretoken" value=")\w+')


def test_no_page_of_an_account_has_a_violation_or_is_too_wide(page: Page, live_server: LiveServer) -> None:
    """Of an empty account, only pages that look different are opened."""
    prepare(page)
    ids: dict[str, Any] = {"task": next(iter(TASKS))}
    full = things_of_alice() | ids
    paths = special_pages(full["user"], Chat.objects.for_owner(full["user"]).get(pk=full["chat_id"]))
    seen: set[str] = set()
    troubles: list[str] = []
    for owner, things in ((full["user"], full), (User.objects.create_user("new@example.com"), ids)):
        User.objects.filter(pk=owner.pk).update(language="de")
        client = Client()
        client.force_login(owner)
        for path, text in pages_of(client, things):
            if (look := look_of(text)) not in seen:
                seen.add(look)
                paths.append(path)
        sign_in(page, live_server, client)
        troubles += troubles_on(page, [*paths, "/no-such-page/"])
        paths = []
    assert troubles == []


def test_no_page_without_an_account_has_a_violation_or_is_too_wide(page: Page, live_server: LiveServer) -> None:
    prepare(page)
    paths = [path for path, _ in pages_of(Client(), {})]
    assert list(troubles_on(page, [*paths, "/no-such-page/"])) == []


def look_of(text: str) -> str:
    """Return the main part of a page, without ids and keys."""
    main = MAIN.search(text)
    return KEYS.sub("", main[0] if main else text)


def special_pages(owner: User, chat: Chat) -> list[str]:
    """Fill the pages of a chat with what makes them wide. Return the paths of more pages like that."""
    fill_book(owner, chat)
    fill_journal(owner)
    turns = make_chat(owner, *[f"This is turn {number}." for number in range(160)], character=chat.character)
    wide = make_chat(owner, "Hm_" * 40, title="Megumin_1673323621108_2023-01_" * 3, character=chat.character)
    paths = [f"/journal/?period={period}" for period in PERIODS]
    paths += [f"/chats/{turns.pk}/", f"/chats/{wide.pk}/", f"/chats/{wide.pk}/delete/"]
    return [*paths, failed_replies(owner)]


def fill_book(owner: User, chat: Chat) -> None:
    """Tell of people, of what they know, and of more memories than a prompt holds."""
    for number in range(6):
        make_memory(chat, f"Fact {number}: the road to the coast has {number} milestones.")
    create_knowledge(chat, "knows", "Mira", "Which tea Tom likes, and that he drinks it cold.", editor="a")
    create_knowledge(chat, "hiding", "Tom", "That there is none left.", editor="a", target="Mira")
    set_relationship(chat, "Mira", "Tom", "fond", "high", editor="a")
    set_field_by_hand(chat, "Mira", "character", "location", "the kitchen of a very long house", editor="a")
    INJECTION_SETTINGS.change(owner, {"long_term_budget": 60}, chat=chat)
    assemble(chat, text=None, character=None, context_tokens=8000, with_history=False)


def failed_replies(owner: User) -> str:
    """Return the path of the replies of a group whose last one failed, with a choice of speakers and presets."""
    chat = make_chat(owner, "Where is the key?")
    for name in ("Salt", "Tam"):
        add_participant(owner, chat.pk, name=name, character=make_character(owner, name=name))
        create_preset(owner, name=name)
    use_for(create_connection(owner, name="theirs", base_url="http://127.0.0.1:9/v1", model="m"), generation=True)
    Generation.objects.create(owner_id=owner.pk, chat=chat, state="failed", error="The server refuses the key.")
    return f"/chats/{chat.pk}/replies/"
