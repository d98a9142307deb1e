"""Cards and their containers, made by hand for tests: the PNG here is not written by the code under test."""

import base64
import io
import json
import struct
import zipfile
import zlib
from typing import Any

V2_CARD: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "name": "Mira",
    "data": {
        "name": "Mira",
        "description": "Keeper of the <b>blue</b> stone.",
        "personality": "calm",
        "scenario": "A lighthouse.",
        "first_mes": "Hello {{user}}, I am {{char}}.",
        "mes_example": "<START>",
        "creator_notes": "Made for tests.",
        "system_prompt": "",
        "post_history_instructions": "",
        "alternate_greetings": ["The door is open, {{user}}."],
        "tags": ["sea", "calm"],
        "creator": "somebody",
        "character_version": "1.2",
        "extensions": {"fav": False, "talkativeness": "0.5", "somebody/else": {"z": 1, "a": [1.0, None]}},
        "unknown": {"kept": True},
    },
}
BOOK: dict[str, Any] = {
    "name": "The coast",
    "extensions": {"own": 1},
    "entries": [
        {"keys": ["stone"], "content": "It is blue.", "enabled": True, "insertion_order": 4, "extensions": {"x": 1}},
        {"keys": ["/key(s)?/i"], "content": "It is lost.", "position": "after_char", "unknown": 7},
    ],
}


def v3_card(**data: Any) -> dict[str, Any]:
    card = json.loads(json.dumps(V2_CARD))
    card |= {"spec": "chara_card_v3", "spec_version": "3.0"}
    card["data"] |= {"nickname": "Mi", "group_only_greetings": ["All of you!"], "source": ["https://x.test"], **data}
    return card


def chunk(kind: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(*texts: bytes, width: int = 1, height: int = 1) -> bytes:
    """A grey PNG with further chunks before its image."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(texts) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND")


def packed(card: Any) -> bytes:
    return base64.b64encode(json.dumps(card, ensure_ascii=False).encode())


def text(card: Any, keyword: str = "chara") -> bytes:
    return chunk(b"tEXt", keyword.encode() + b"\0" + packed(card))


def compressed_text(card: Any, keyword: str = "chara") -> bytes:
    return chunk(b"zTXt", keyword.encode() + b"\0\0" + zlib.compress(packed(card)))


def international_text(card: Any, keyword: str = "chara", compress: bool = False) -> bytes:
    body = zlib.compress(packed(card)) if compress else packed(card)
    return chunk(b"iTXt", keyword.encode() + (b"\0\1\0" if compress else b"\0\0\0") + b"en\0Karte\0" + body)


def texts_of(content: bytes) -> dict[str, Any]:
    """The cards in the tEXt chunks of a PNG, by keyword, in their order."""
    found, at = {}, 8
    while at < len(content):
        length, kind = struct.unpack_from(">I4s", content, at)
        if kind == b"tEXt":
            keyword, _, value = content[at + 8 : at + 8 + length].partition(b"\0")
            if keyword in (b"chara", b"ccv3"):
                found[keyword.decode()] = json.loads(base64.b64decode(value))
        at += 12 + length
    return found


def charx(card: Any, files: dict[str, bytes] | None = None, prefix: bytes = b"") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("card.json", card if isinstance(card, bytes) else json.dumps(card))
        for name, content in (files or {}).items():
            archive.writestr(name, content)
    return prefix + file.getvalue()
