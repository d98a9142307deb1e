"""Cards, pure: what comes in goes out again, whatever is in it, and damage is an error with words."""

import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.chats.images.png import BrokenPNG, Chunk, encode_chunks, read_chunks
from apps.chats.message_data.layout import dump
from apps.exchange.formats.cards.document import FIELDS, V2, V3, as_version, read_fields
from apps.exchange.formats.cards.merging import CharacterCard
from apps.exchange.formats.cards.png_texts import MAX_TEXT_BYTES, text_of
from apps.exchange.formats.cards.reading import ParsedCard, UnreadableCard, read
from apps.exchange.formats.cards.writing import blank_picture, write_png
from tests.exchange.cards_made import (
    BOOK,
    V2_CARD,
    charx,
    chunk,
    compressed_text,
    international_text,
    png,
    text,
    v3_card,
)

# What Postgres holds: no NUL, no lone surrogate.
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
# Known fields may hold anything: programs disagree about their types.
data = st.dictionaries(st.sampled_from(FIELDS) | texts, values, max_size=12).map(lambda some: some | {"name": "Mira"})
labels = st.sampled_from([V2, V3, V3 | {"spec_version": "3.7"}, {"spec": "chara_card_v4", "spec_version": "4.0"}])
books = st.none() | st.fixed_dictionaries({"entries": st.lists(st.dictionaries(texts, values, max_size=4), max_size=3)})


@st.composite
def cards(draw: st.DrawFn) -> dict[str, Any]:
    """A card of version 1, 2 or 3, with unknown keys anywhere."""
    around = draw(st.dictionaries(st.sampled_from(FIELDS) | texts, values, max_size=6))
    inside = draw(data)
    book = draw(books)
    if book is not None:
        inside["character_book"] = book
    if draw(st.booleans()):
        return {key: value for key, value in around.items() if key != "data"} | inside | {"description": "d"}
    return around | draw(labels) | {"data": {key: value for key, value in inside.items() if key != "entries"}}


def laid(parsed: ParsedCard) -> CharacterCard:
    return CharacterCard(parsed.card, parsed.fields, parsed.book.document if parsed.book else None)


def card_in(content: bytes) -> ParsedCard:
    card = read(content).card
    assert card is not None
    return card


def read_or_told(content: bytes) -> str:
    """The format of what was read, or why it wasn't; any other error is one."""
    try:
        return read(content).format
    except UnreadableCard as error:
        return str(error)


@given(cards())
def test_a_card_goes_out_as_it_came_and_comes_back_the_same(document: dict[str, Any]) -> None:
    first = card_in(json.dumps(document).encode())
    written = laid(first).document()
    if "data" in document:
        assert dump(written) == dump(document)
    else:
        labels_had = {key: document[key] for key in ("spec", "spec_version") if key in document}
        kept = {key: value for key, value in written.items() if key in document}
        assert dump(kept | labels_had) == dump(document)
    second = card_in(write_png(png(), laid(first)))
    assert dump(laid(second).document()) == dump(written)
    assert dump(second.fields) == dump(read_fields(written))
    assert write_png(png(), laid(second)) == write_png(png(), laid(first))


@given(cards(), st.dictionaries(st.sampled_from(["description", "creator", "first_mes"]), texts))
def test_a_change_is_in_both_versions_and_everything_else_as_it_was(
    document: dict[str, Any], changes: dict[str, str]
) -> None:
    parsed = card_in(json.dumps(document).encode())
    changed = CharacterCard(parsed.card, parsed.fields | changes, laid(parsed).book)
    before, after = laid(parsed).document(), changed.document()
    assert read_fields(after) == read_fields(before) | changes
    others = {key for key in before["data"] if key not in changes}
    assert dump({key: after["data"][key] for key in others}) == dump({key: before["data"][key] for key in others})
    assert after["data"] == changed.document(V2)["data"] == changed.document(V3)["data"]


@given(st.data())
def test_damage_is_told_and_nothing_else(given_data: st.DataObject) -> None:
    whole = given_data.draw(
        st.sampled_from(
            [
                png(text(V2_CARD)),
                png(compressed_text(V2_CARD)),
                png(international_text(v3_card(), compress=True)),
                charx(v3_card(character_book=BOOK), {"assets/a.png": png()}),
                json.dumps(V2_CARD).encode(),
                b"name: Mira\ncontext: |-\n  d\ngreeting: Hi\n",
            ]
        )
    )
    content = bytearray(whole)
    for at in given_data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=3)):
        content[at] = given_data.draw(st.integers(0, 255))
    end = given_data.draw(st.integers(0, len(whole)))
    assert read_or_told(bytes(content[:end]))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_card_or_an_error(content: bytes) -> None:
    for prefix in (b"", b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", b"{", b"- "):
        assert read_or_told(prefix + content)


# PNG


@given(st.lists(st.tuples(st.sampled_from([b"tEXt", b"vpAg", b"IDAT"]), st.binary(max_size=30))))
def test_chunks_are_written_as_they_were_read(given_chunks: list[tuple[bytes, bytes]]) -> None:
    content = png(*(chunk(kind, body) for kind, body in given_chunks))
    assert encode_chunks(read_chunks(content)) == content


@pytest.mark.parametrize("length", range(8, len(png(text(V2_CARD))), 7))
def test_a_cut_picture_is_no_picture(length: int) -> None:
    with pytest.raises(BrokenPNG):
        read_chunks(png(text(V2_CARD))[:length])


def test_texts_are_unpacked_up_to_a_limit() -> None:
    bomb = zlib.compress(b"\0" * (MAX_TEXT_BYTES + 1))
    for kind, head in ((b"zTXt", b"chara\0\0"), (b"iTXt", b"chara\0\1\0\0\0")):
        assert text_of(Chunk(kind, head + zlib.compress(b"abc"))) == b"abc"
        with pytest.raises(BrokenPNG, match="larger"):
            text_of(Chunk(kind, head + bomb))
        with pytest.raises(BrokenPNG, match="cut off"):
            text_of(Chunk(kind, head + zlib.compress(b"abc" * 50)[:-6]))
        with pytest.raises(BrokenPNG, match="damaged"):
            text_of(Chunk(kind, head + b"abc"))


def test_an_archive_is_unpacked_up_to_a_limit() -> None:
    with pytest.raises(UnreadableCard, match="larger"):
        read(charx(b'{"name": "' + b"A" * 2**26 + b'"}'))


def test_what_stands_behind_the_picture_goes_no_further() -> None:
    card = card_in(png(text(V2_CARD)) + b"trailing")
    assert b"trailing" not in write_png(card.picture or b"", laid(card))


@pytest.mark.parametrize("name", ["Mira", "élan", "", "‼", "龍"])
def test_a_plain_picture_is_a_sound_png(name: str) -> None:
    assert read_chunks(blank_picture(name))


# The document


def test_a_first_version_and_its_cousins_say_the_same() -> None:
    v1 = {"name": "M", "description": "d", "scenario": "s", "first_mes": "f", "mes_example": "e"}
    pygmalion = {"char_name": "M", "char_persona": "d", "world_scenario": "s", "char_greeting": "f"}
    pygmalion |= {"example_dialogue": "e"}
    assert read_fields(v1) == read_fields(pygmalion) == read_fields({"data": v1})


def test_what_is_of_another_type_is_read_and_said() -> None:
    said: list[str] = []
    card = {"data": {"name": 7, "description": None, "tags": "a, b,", "alternate_greetings": 3, "extensions": []}}
    fields = read_fields(card, said.append)
    assert (fields["name"], fields["description"], fields["tags"]) == ("7", "", ["a", "b"])
    assert any("alternate_greetings" in warning for warning in said)
    assert any("extensions" in warning for warning in said)


def test_a_newer_version_is_not_labelled_down_to_the_third() -> None:
    newer = {"spec": "chara_card_v4", "spec_version": "4.0", "data": {"name": "M"}}
    assert as_version(newer, V3) == newer
    assert as_version(newer, V2)["spec"] == "chara_card_v2"
    assert as_version(v3_card() | {"spec_version": "3.2"}, V3)["spec_version"] == "3.2"


def test_a_name_beside_the_data_is_the_cards() -> None:
    nameless = {key: value for key, value in V2_CARD["data"].items() if key != "name"}
    for data in (nameless, nameless | {"name": ""}, nameless | {"name": None}):
        parsed = card_in(json.dumps(V2_CARD | {"data": data}).encode())
        assert parsed.fields["name"] == "Mira"
        assert laid(parsed).document()["data"] == data


def test_why_a_text_in_a_picture_is_no_card_is_told() -> None:
    with pytest.raises(UnreadableCard, match="The picture's chara text can't be read"):
        read(png(chunk(b"tEXt", b"chara\0!!!!")))


@pytest.mark.parametrize(
    ("persona", "description"),
    [
        ({"kind": "text", "attributes": {"text": ["A baker.", "Calm."]}}, "A baker.\n\nCalm."),
        (
            {"kind": "boostyle", "attributes": {"trade": ["baker"], "mood": ["calm", "kind"], "x": [7]}},
            "trade: baker\nmood: calm, kind",
        ),
    ],
)
def test_a_character_of_agnai_keeps_its_persona(persona: dict[str, Any], description: str) -> None:
    character = {
        "kind": "character",
        "name": "Ilse",
        "persona": persona,
        "greeting": "Yes?",
        "sampleChat": "Hm.",
        "description": "Made for tests.",
        "systemPrompt": "Be Ilse.",
        "alternateGreetings": ["Come in."],
        "scenario": "A bakery.",
        "tags": ["bread"],
        "characterBook": {"entries": []},
        "visualType": "avatar",
    }
    parsed = card_in(json.dumps(character).encode())
    assert parsed.format == "agnai"
    assert parsed.book is not None
    given = {key: value for key, value in parsed.fields.items() if value and key != "extensions"}
    assert given == {
        "name": "Ilse",
        "description": description,
        "first_mes": "Yes?",
        "mes_example": "Hm.",
        "creator_notes": "Made for tests.",
        "system_prompt": "Be Ilse.",
        "alternate_greetings": ["Come in."],
        "scenario": "A bakery.",
        "tags": ["bread"],
    }
    assert parsed.fields["extensions"]["agnai"]["visualType"] == "avatar"
