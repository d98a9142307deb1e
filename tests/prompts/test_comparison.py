"""Test the comparison of two recalls."""

from hypothesis import given
from hypothesis import strategies as st

from apps.prompts.pages.recall_comparison import compare


def entry(name: str, text: str = "text", slot: str = "session", tier: str = "session") -> dict[str, str]:
    return {"id": name, "tier": tier, "slot": slot, "text": text}


ORDERS = st.permutations("abcdefgh").flatmap(
    lambda names: st.integers(0, 8).map(lambda n: [entry(x) for x in names[:n]])
)


@given(ORDERS, ORDERS)
def test_what_came_and_went_makes_one_recall_of_the_other(before, after):
    changes = compare(before, after)
    ids = {item["id"] for item in before} - {item["id"] for item in changes.went}
    assert ids | {item["id"] for item in changes.came} == {item["id"] for item in after}
    assert compare(before, before).is_equal
    assert changes.is_equal == (before == after)


def test_an_entry_before_the_others_moves_none_of_them():
    changes = compare([entry("a"), entry("b")], [entry("new"), entry("a"), entry("b")])
    assert [item["id"] for item in changes.came] == ["new"]
    assert changes.moved == []


def test_a_changed_place_slot_or_text_is_told():
    before = [entry("a"), entry("b"), entry("c"), entry("d", "old")]
    changes = compare(before, [entry("b"), entry("a"), entry("c", slot="triggered"), entry("d", "new")])
    assert [(m.entry["id"], m.before, m.after, m.changed_slot) for m in changes.moved] == [
        ("b", 2, 1, False),
        ("a", 1, 2, False),
        ("c", 3, 3, True),
    ]
    assert [item["id"] for item in changes.reworded] == ["d"]


def test_a_scene_and_the_message_at_its_end_are_two_entries():
    changes = compare([entry("m", tier="scenes")], [entry("m", tier="scenes"), entry("m", tier="messages")])
    assert len(changes.came) == 1
    assert not changes.went
