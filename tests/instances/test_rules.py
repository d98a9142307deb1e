"""What becomes of what two instances wrote at the same time."""

import pytest
from rest_framework.test import APIClient

from apps.common.scoping import system_scope
from apps.instances.models import Conflict, ItemVersion
from apps.memories.models import JournalEntry, Memory
from apps.memories.operations import edit_memory
from tests.contract.conftest import client_of
from tests.extraction.test_corrected_memories import KYOTO, OSAKA, active, say, told
from tests.instances.conftest import KEY, LATER, NOW, daily, file, memory, pull, push, tombstone

MEMORY = f"/api/v1/memories/{KEY}/"
FILE = "/api/v1/identity/self/notes.md/"
SAID = f"Alice: “{OSAKA}”"


def text_of(alice: APIClient) -> str | None:
    reply = alice.get(MEMORY)
    return reply.json()["text"] if reply.status_code == 200 else None


def test_a_pushed_memory_is_one_of_the_owners_with_its_instance(alice: APIClient) -> None:
    reply = push(alice, "desk", memories=[memory("desk", {"desk": 1}, participating_instances=["phone"])])
    assert reply == {"clock": {"desk": 1, "loci": 1}, "applied": 1, "merged": 0, "conflicts": []}
    found = alice.get(MEMORY).json()
    assert (found["text"], found["source_instance"]) == ("The key is silver.", "desk")
    assert found["participating_instances"] == ["desk", "phone"]
    query = {"query": "silver key", "instance": "desk"}
    assert alice.post("/api/v1/memories/search/", query).json()["results"][0]["signals"]["instance"] == 1


def test_the_dominating_clock_wins_and_what_it_replaced_is_kept(alice: APIClient) -> None:
    push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    reply = push(alice, "phone", memories=[memory("phone", {"desk": 1, "phone": 1}, "The key is gold.")])
    assert (reply["applied"], reply["conflicts"]) == (1, [])
    assert text_of(alice) == "The key is gold."
    with system_scope():
        assert [version.text for version in ItemVersion.objects.all()] == ["The key is silver."]


def test_concurrent_edits_are_both_kept_until_a_person_chooses(alice: APIClient) -> None:
    push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    reply = push(alice, "phone", memories=[memory("phone", {"phone": 1}, "The key is gold.")])
    [report] = reply["conflicts"]
    assert (report["id"], report["winner"], report["reason"]) == (KEY, "desk", "kept-both")
    [conflict] = alice.get("/api/v1/conflicts/").json()["results"]
    assert (conflict["ours"]["text"], conflict["theirs"]["text"]) == ("The key is silver.", "The key is gold.")
    assert alice.get("/api/v1/sync/status/").json()["open_conflicts"] == 1
    settle = f"/api/v1/conflicts/{conflict['id']}/settle/"
    assert alice.post(settle, {"choose": "theirs"}).json()["choice"] == "theirs"
    assert text_of(alice) == "The key is gold."
    assert alice.post(settle, {"choose": "ours"}).status_code == 409
    [pulled] = pull(alice, "desk")["memories"]
    assert (pulled["text"], pulled["clock"]["desk"], pulled["clock"]["phone"]) == ("The key is gold.", 1, 1)


@pytest.mark.parametrize(
    ("choose", "texts"),
    [
        ("ours", ["The key is silver."]),
        ("both", ["The key is gold.", "The key is silver."]),
        ({"text": "Keys are silver or gold."}, ["Keys are silver or gold."]),
    ],
)
def test_ways_to_settle(alice: APIClient, choose: object, texts: list[str]) -> None:
    push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    push(alice, "phone", memories=[memory("phone", {"phone": 1}, "The key is gold.")])
    [conflict] = alice.get("/api/v1/conflicts/").json()["results"]
    assert alice.post(f"/api/v1/conflicts/{conflict['id']}/settle/", {"choose": choose}).status_code == 200
    assert sorted(each["text"] for each in pull(alice, "phone")["memories"]) == texts


@pytest.mark.parametrize(
    ("tier", "period", "texts"),
    [("significant", "2026-11-20", ["Loud.", "Quiet."]), ("weekly", "2026-W47", ["Quiet.\n\nLoud."])],
)
def test_both_are_two_significant_entries_and_one_week(
    alice: APIClient, tier: str, period: str, texts: list[str]
) -> None:
    names = {"tier": tier, "period": period}
    push(alice, "desk", memories=[memory("desk", {"desk": 1}, "Quiet.", **names)])
    push(alice, "phone", memories=[memory("phone", {"phone": 1}, "Loud.", **names)])
    [conflict] = alice.get("/api/v1/conflicts/").json()["results"]
    assert alice.post(f"/api/v1/conflicts/{conflict['id']}/settle/", {"choose": "both"}).status_code == 200
    pulled = pull(alice, "phone")["memories"]
    assert sorted((each["tier"], each["period"], each["text"]) for each in pulled) == [
        (tier, period, text) for text in texts
    ]
    listed = alice.get(f"/api/v1/journal/?granularity={tier}").json()["results"]
    assert {each["edited_by"] for each in listed if each["text"] != "Quiet."} == {"alice@example.com"}


def test_a_correction_in_loci_is_concurrent_with_a_write_that_has_not_seen_it(alice: APIClient) -> None:
    push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    alice.patch(MEMORY, {"text": "The key is of tin."})
    reply = push(alice, "desk", memories=[memory("desk", {"desk": 2}, "The key is gold.")])
    assert [(each["winner"], each["reason"]) for each in reply["conflicts"]] == [("loci", "kept-both")]


def push_elena(alice: APIClient, text: str) -> Memory:
    """Have the desk write another text of what Loci learnt about Elena, and return the memory."""
    (learnt,) = (each for each in pull(alice, "desk")["memories"] if "Elena" in each["text"])
    written = {"text": text, "clock": learnt["clock"] | {"desk": 1}, "instance": "desk"}
    assert push(alice, "desk", memories=[learnt | written])["conflicts"] == []
    return Memory.objects.for_owner(alice.user).get(pk=learnt["id"])


def test_a_pushed_correction_stands_when_the_former_text_is_said_again(alice: APIClient) -> None:
    chat = told(alice.user)
    assert push_elena(alice, KYOTO).former_texts == [SAID]
    say(chat, "Elena, your sister, lives in Osaka with her husband Kenji.", is_user=False)
    assert active(alice.user, "Elena") == [KYOTO]
    say(chat, OSAKA, is_user=True)
    assert active(alice.user, "Elena") == [KYOTO]


def test_a_pushed_return_to_the_former_text_is_no_correction(alice: APIClient) -> None:
    chat = told(alice.user)
    edit_memory(Memory.objects.for_owner(alice.user).get(text=SAID), editor="alice", text=KYOTO)
    memory = push_elena(alice, SAID)
    assert (memory.text, memory.former_texts) == (SAID, [])
    say(chat, OSAKA, is_user=True)
    assert active(alice.user, "Elena") == [SAID]


def test_a_memory_that_is_pushed_first_has_no_former_text(alice: APIClient) -> None:
    push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    push(alice, "desk", memories=[memory("desk", {"desk": 2}, "The key is gold.")])
    assert Memory.objects.for_owner(alice.user).get(pk=KEY).former_texts == ["The key is silver."]


def test_a_deletion_beats_the_edit_that_it_had_seen(alice: APIClient) -> None:
    push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    push(alice, "phone", tombstones=[tombstone("phone", {"desk": 1, "phone": 1})])
    assert text_of(alice) is None
    push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    assert text_of(alice) is None
    assert [each["id"] for each in pull(alice, "desk")["tombstones"]] == [KEY]


def test_a_concurrent_edit_beats_the_deletion_in_either_order(alice: APIClient) -> None:
    push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    push(alice, "phone", tombstones=[tombstone("phone", {"desk": 1, "phone": 1})])
    reply = push(alice, "desk", memories=[memory("desk", {"desk": 2}, "The key is gold.")])
    assert [each["reason"] for each in reply["conflicts"]] == ["deleted"]
    assert text_of(alice) == "The key is gold."
    reply = push(alice, "phone", tombstones=[tombstone("phone", {"desk": 1, "phone": 2})])
    assert [(each["winner"], each["reason"]) for each in reply["conflicts"]] == [("desk", "deleted")]
    assert text_of(alice) == "The key is gold."


def test_a_deletion_in_loci_reaches_instances_and_outlives_the_memory(alice: APIClient) -> None:
    push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    clock = pull(alice, "desk")["clock"]
    alice.delete(MEMORY)
    pulled = pull(alice, "desk", clock)
    assert [each["id"] for each in pulled["tombstones"]] == [KEY]
    with system_scope():
        Memory.objects.all().delete()
    assert [each["id"] for each in pull(alice, "phone")["tombstones"]] == [KEY]


def test_the_last_write_of_an_identity_file_wins_and_the_loser_is_a_version(alice: APIClient) -> None:
    push(alice, "desk", identity=[file("desk", {"desk": 1}, "late", LATER)])
    reply = push(alice, "phone", identity=[file("phone", {"phone": 1}, "early", NOW)])
    assert [(each["id"], each["winner"], each["reason"]) for each in reply["conflicts"]] == [
        ("self/notes.md", "desk", "last-write-wins")
    ]
    found = alice.get(FILE).json()
    assert (found["content"], found["version"]) == ("late", 2)
    assert alice.get(FILE, {"version": 1}).json()["content"] == "early"


def test_priority_decides_between_identity_files_of_the_same_time(alice: APIClient) -> None:
    alice.patch("/api/v1/instances/phone/", {"priority": 5})
    push(alice, "desk", identity=[file("desk", {"desk": 1}, "of the desk")])
    reply = push(alice, "phone", identity=[file("phone", {"phone": 1}, "of the phone")])
    assert [(each["winner"], each["reason"]) for each in reply["conflicts"]] == [("phone", "priority")]
    assert alice.get(FILE).json()["content"] == "of the phone"


def test_identity_files_have_versions_also_when_deleted(alice: APIClient) -> None:
    assert alice.put(FILE, {"content": "one"}).status_code == 201
    assert alice.put(FILE, {"content": "two"}).json()["version"] == 2
    assert alice.delete(FILE).status_code == 204
    assert alice.get(FILE).status_code == 404
    assert alice.get(FILE, {"version": 2}).json()["content"] == "two"
    assert alice.get("/api/v1/identity/").json()["results"] == []


def test_days_are_merged_by_bullet(alice: APIClient) -> None:
    push(alice, "desk", memories=[daily("desk", {"desk": 1}, "- Found a key. [chat:a]")])
    with system_scope():
        entry = JournalEntry.objects.get()
    assert (str(entry.pk), entry.instance) == (KEY, "desk")
    entry.text += "\n- Written by hand."
    with system_scope():
        entry.save()
    text = "- Found a key. [chat:a]\n- Lost a key. [chat:b]"
    reply = push(alice, "desk", memories=[daily("desk", {"desk": 2}, text)])
    assert (reply["merged"], [each["reason"] for each in reply["conflicts"]]) == (1, ["merged-bullets"])
    [pulled] = pull(alice, "phone")["memories"]
    assert pulled["text"] == "- Found a key. [chat:a]\n- Written by hand.\n- Lost a key. [chat:b]"
    assert (pulled["tier"], pulled["period"], pulled["instance"]) == ("daily", "2026-11-20", "desk")


def test_a_week_with_another_id_is_the_same_week(alice: APIClient) -> None:
    week = {"tier": "weekly", "period": "2026-W47"}
    push(alice, "desk", memories=[memory("desk", {"desk": 1}, "Quiet.", **week)])
    other = KEY.replace("1", "2")
    reply = push(alice, "phone", memories=[memory("phone", {"phone": 1}, "Loud.", **week, id=other)])
    assert [(each["id"], each["reason"]) for each in reply["conflicts"]] == [(KEY, "kept-both")]


def test_a_repeated_push_changes_nothing_and_reports_nothing(alice: APIClient) -> None:
    push(alice, "desk", memories=[memory("desk", {"desk": 1})], identity=[file("desk", {"desk": 2}, "a")])
    entries = {"memories": [memory("phone", {"phone": 1}, "Gold.")], "identity": [file("phone", {"phone": 2}, "b")]}
    assert len(push(alice, "phone", **entries)["conflicts"]) == 2
    before = pull(alice, "desk")
    assert push(alice, "phone", **entries)["conflicts"] == []
    assert pull(alice, "desk") == before
    with system_scope():
        assert Conflict.objects.count() == 1


def test_a_deletion_that_comes_before_its_memory_holds(alice: APIClient) -> None:
    push(alice, "desk", tombstones=[tombstone("desk", {"desk": 2})])
    push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    assert text_of(alice) is None


def test_what_was_pushed_late_is_pulled_by_those_who_saw_later_writes(alice: APIClient) -> None:
    push(alice, "desk", memories=[memory("desk", {"desk": 5})])
    clock = pull(alice, "phone")["clock"]
    other = memory("desk", {"desk": 3}, "Written before, pushed after.", id=KEY.replace("1", "2"))
    push(alice, "desk", memories=[other])
    assert [each["text"] for each in pull(alice, "phone", clock)["memories"]] == [other["text"]]


def test_pages_of_a_pull_hold_everything_once(alice: APIClient) -> None:
    ids = [f"00000000-0000-7000-8000-{number:012}" for number in range(5)]
    push(alice, "desk", memories=[memory("desk", {"desk": 1}, each, id=each) for each in ids])
    first = pull(alice, "phone", query="?limit=2")
    second = pull(alice, "phone", query=f"?limit=2&cursor={first['next']}")
    rest = pull(alice, "phone", second["clock"])  # the clock of a page is one to pull from
    assert [each["id"] for page in (first, second, rest) for each in page["memories"]] == ids
    assert rest["next"] is None


def test_a_bound_token_gives_its_memories_and_searches_its_instance(alice: APIClient) -> None:
    desk = client_of(alice.user, instance="desk")
    assert desk.post("/api/v1/memories/", {"text": "The key is silver."}).json()["source_instance"] == "desk"
    for client, signal in ((desk, 1), (alice, 0)):
        [found] = client.post("/api/v1/memories/search/", {"query": "silver key"}).json()["results"]
        assert found["signals"]["instance"] == signal
