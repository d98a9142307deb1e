"""Corrections of entries that were retired in another tab in the meantime."""

import pytest

from apps.accounts.models import User
from apps.extraction.runs.modes import start_fresh
from apps.memories.models import Arc, LedgerEntry, Scene
from apps.memories.operations.arcs import close_arc, create_arc
from apps.memories.operations.layer_entries import edit_entry, end_entry, retire_entry
from apps.memories.operations.ledger import set_field_by_hand
from apps.memories.operations.scenes import dismiss_scene
from tests.factories import make_character, make_chat

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(django_user_model: type[User]):
    owner = django_user_model.objects.create_user("alice@example.com", "alice-password")
    return make_chat(owner, "The key is gone.", "I will find it.", character=make_character(owner))


def test_an_arc_that_was_taken_out_can_be_closed(chat) -> None:
    arc = create_arc(chat, "Find the key.", editor="alice")
    retire_entry(arc, editor="alice")
    close_arc(Arc.objects.for_owner(chat.owner).get(pk=arc.pk), editor="alice")
    stored = Arc.objects.for_owner(chat.owner).get(pk=arc.pk)
    assert (stored.state, stored.state_before, stored.retired_reason, stored.retired_by) == ("resolved", "", "", "")


def test_an_arc_from_before_a_fresh_start_can_be_closed(chat) -> None:
    arc = create_arc(chat, "Find the key.", editor="alice")
    start_fresh(chat.owner, chat)
    close_arc(Arc.objects.for_owner(chat.owner).get(pk=arc.pk), editor="alice")
    assert Arc.objects.for_owner(chat.owner).get(pk=arc.pk).state == "resolved"


def test_a_scene_from_before_a_fresh_start_can_be_dismissed_and_brought_back(chat) -> None:
    last = chat.messages.with_swipes().order_by("index").first()
    scene = Scene.objects.create(owner=chat.owner, chat=chat, source=last, swipe=last.active_swipe)
    start_fresh(chat.owner, chat)
    dismiss_scene(Scene.objects.for_owner(chat.owner).get(pk=scene.pk), editor="alice")
    assert Scene.objects.for_owner(chat.owner).get(pk=scene.pk).state == "dismissed"
    start_fresh(chat.owner, chat)
    edit_entry(Scene.objects.for_owner(chat.owner).get(pk=scene.pk), editor="alice", state=Scene.State.FOUND)
    assert Scene.objects.for_owner(chat.owner).get(pk=scene.pk).state == "found"


def test_a_run_does_not_end_an_entry_that_a_person_takes_out_meanwhile(chat) -> None:
    set_field_by_hand(chat, "Mira", "character", "location", "the harbour", editor="alice")
    loaded = LedgerEntry.objects.for_owner(chat.owner).get()
    retire_entry(LedgerEntry.objects.for_owner(chat.owner).get(), editor="alice")
    end_entry(loaded, LedgerEntry.State.REPLACED, None)
    stored = LedgerEntry.objects.for_owner(chat.owner).get()
    assert (stored.state, stored.state_before) == ("retired", "current")
