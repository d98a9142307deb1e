"""Lorebooks of all programs: read into one form, and written for others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.chats.lorebook_entries import ParsedLorebook, normalise_book
from apps.chats.message_data.layout import dump
from apps.exchange.formats import lorebooks
from apps.exchange.formats.lorebooks.world_info import EXTENSIONS, SPEC_FIELDS
from tests.exchange.cards_made import BOOK


def quiet(_: str) -> None:
    pass


def read(value: Any) -> ParsedLorebook:
    book = lorebooks.read(value, quiet)
    assert book is not None
    return book


def test_world_info_of_2023_gets_the_defaults() -> None:
    entry = {"uid": 3, "key": ["stone"], "keysecondary": [], "comment": "c", "content": "Blue.", "constant": False}
    book = read({"entries": {"3": entry | {"selective": False, "disable": True}}})
    found = book.document["entries"][0]
    assert (book.format, found["id"], found["keys"], found["enabled"]) == ("sillytavern", 3, ["stone"], False)
    assert (found["insertion_order"], found["position"], found["selective"]) == (100, "before_char", False)
    extensions = found["extensions"]
    assert (extensions["position"], extensions["depth"], extensions["probability"]) == (0, 4, 100)
    assert (extensions["group_weight"], extensions["useProbability"], extensions["selectiveLogic"]) == (100, True, 0)
    assert [extensions[key] for key in ("role", "scan_depth", "match_whole_words", "sticky")] == [None] * 4


def test_world_info_of_today_keeps_every_field() -> None:
    entry = {
        "uid": 0,
        "key": ["/sto(ne)?/i"],
        "content": "c",
        "position": 4,
        "depth": 2,
        "role": 1,
        "order": 7,
        "excludeRecursion": True,
        "outletName": "out",
        "triggers": ["swipe"],
        "characterFilter": {"isExclude": False, "names": ["Mira"], "tags": []},
    }
    found = read({"entries": [entry]}).document["entries"][0]
    assert (found["position"], found["use_regex"], found["selective"]) == ("after_char", True, True)
    extensions = found["extensions"]
    assert (extensions["position"], extensions["depth"], extensions["role"]) == (4, 2, 1)
    assert (extensions["exclude_recursion"], extensions["outlet_name"]) == (True, "out")
    assert extensions["characterFilter"]["names"] == ["Mira"]


@pytest.mark.parametrize(
    ("book", "form", "expected"),
    [
        (BOOK, "card", (["stone"], "It is blue.", True, 4)),
        ({"spec": "lorebook_v3", "data": BOOK}, "v3", (["stone"], "It is blue.", True, 4)),
        (
            {
                "lorebookVersion": 5,
                "entries": [
                    {
                        "keys": ["stone"],
                        "text": "It is blue.",
                        "displayName": "Stone",
                        "enabled": True,
                        "contextConfig": {"budgetPriority": 400},
                    }
                ],
            },
            "novelai",
            (["stone"], "It is blue.", True, 400),
        ),
        (
            {
                "kind": "memory",
                "name": "Coast",
                "entries": [
                    {"name": "Stone", "keywords": ["stone"], "entry": "It is blue.", "weight": 9, "enabled": False}
                ],
            },
            "agnai",
            (["stone"], "It is blue.", False, 9),
        ),
        (
            {
                "type": "risu",
                "ver": 1,
                "data": [{"key": "stone, rock", "content": "It is blue.", "insertorder": 8, "activationPercent": 50}],
            },
            "risu",
            (["stone", "rock"], "It is blue.", True, 8),
        ),
    ],
)
def test_every_kind_of_book_is_read(book: dict[str, Any], form: str, expected: tuple[Any, ...]) -> None:
    parsed = read(book)
    entry = parsed.document["entries"][0]
    assert parsed.format == form
    assert (entry["keys"], entry["content"], entry["enabled"], entry["insertion_order"]) == expected
    assert lorebooks.write(parsed.document, "sillytavern")["entries"]["0"]["order"] == expected[3]


@pytest.mark.parametrize("value", [None, [], {}, {"entries": 3}, {"data": []}, {"name": "Mira"}, "entries"])
def test_what_is_no_book_is_none(value: Any) -> None:
    assert lorebooks.read(value, quiet) is None


words = st.text("abc/ ", max_size=6)
entries = st.fixed_dictionaries(
    {"key": st.lists(words), "content": words},
    optional={
        **{key: words for key in SPEC_FIELDS if key in ("comment",)},
        "keysecondary": st.lists(words),
        "order": st.integers(-5, 500),
        "position": st.integers(0, 7),
        "disable": st.booleans(),
        "selective": st.booleans(),
        "constant": st.booleans(),
        **{
            key: st.integers(0, 9)
            for key in EXTENSIONS
            if key in ("depth", "probability", "role", "sticky", "scanDepth")
        },
        "unknown": st.integers(),
    },
)


@given(st.dictionaries(st.integers(0, 9).map(str), entries) | st.lists(entries, min_size=1))
def test_world_info_survives_the_other_forms(given_entries: Any) -> None:
    parsed = read({"entries": given_entries, "name": "Coast"})
    assert dump(lorebooks.write(parsed.document, "sillytavern", parsed.original)) == dump(parsed.original)
    for form in ("card", "v3"):
        written = lorebooks.write(parsed.document, form, parsed.original)
        assert dump(read(written).document if given_entries else parsed.document) == dump(parsed.document)
    again = read(lorebooks.write(parsed.document, "sillytavern")).document["entries"]
    for before, after in zip(parsed.document["entries"], again, strict=True):
        assert after | {"id": 0} == before | {"id": 0}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
known = st.sampled_from(["keys", "key", "content", "extensions", "position", "order", "enabled", "uid", "text", "data"])


@given(
    st.sampled_from([{}, {"kind": "memory"}, {"lorebookVersion": 1}, {"type": "risu"}, {"spec": "lorebook_v3"}]),
    st.lists(st.dictionaries(known, json_values) | json_values, max_size=3) | json_values,
)
def test_a_book_of_anything_is_read(kind: dict[str, Any], given_entries: Any) -> None:
    """Whatever the types inside, and once read, reading what is written changes nothing."""
    for book in ({"entries": given_entries}, {"data": given_entries}, {"data": {"entries": given_entries}}):
        parsed = lorebooks.read(kind | book, quiet)
        if parsed is None:
            continue
        card = lorebooks.write(parsed.document, "card")
        assert dump(normalise_book(card, quiet)) == dump(parsed.document)
        lorebooks.write(parsed.document, "sillytavern")


def test_entries_alone_are_a_book() -> None:
    parsed = read([{"key": ["oven"], "content": "HOT", "name": "Oven"}, {"key": ["yard"], "content": "WET"}])
    assert [(entry["keys"], entry["content"]) for entry in parsed.document["entries"]] == [
        (["oven"], "HOT"),
        (["yard"], "WET"),
    ]
    for value in ([{"key": ["oven"]}], [{"content": "HOT"}], [{"role": "user", "content": "HOT"}], ["oven"]):
        assert lorebooks.read(value, quiet) is None


def test_entries_of_sillytavern_among_those_of_a_card_keep_their_keys() -> None:
    entries = [{"keys": ["oven"], "content": "HOT"}, {"key": ["yard"], "keysecondary": ["rain"], "content": "WET"}]
    for given_entries in (entries, {str(at): entry for at, entry in enumerate(entries)}):
        read_entries = read({"entries": given_entries}).document["entries"]
        assert [(e["keys"], e["secondary_keys"]) for e in read_entries] == [(["oven"], []), (["yard"], ["rain"])]
