"""Write a card into a PNG, replacing the card that it holds."""

import base64
import io
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from apps.chats.images.png import Chunk, encode_chunks, read_chunks
from apps.chats.message_data.layout import dump
from apps.exchange.formats.cards.document import V2, V3
from apps.exchange.formats.cards.merging import CharacterCard
from apps.exchange.formats.cards.png_texts import keyword_of, text_chunk

KEYWORDS = ("chara", "ccv3")
# The blank picture for a card without one: the usual size, 2:3, in the colours of the web pages.
BLANK_SIZE = (400, 600)
PAPER, INK = "#f3eee5", "#0f5c5c"


def write_png(picture: bytes, card: CharacterCard) -> bytes:
    """Return a PNG picture with the card in a `chara` (version 2) and a `ccv3` (version 3) chunk.

    The chunk of the imported version is first, so that `reading` can tell which of two equal cards is the original.
    All other chunks are kept, byte for byte. Raise BrokenPNG.
    """
    kept = [chunk for chunk in read_chunks(picture) if keyword_of(chunk) not in KEYWORDS]
    texts = [_card_chunk("chara", card.document(V2)), _card_chunk("ccv3", card.document(V3))]
    if card.document()["spec"] != V2["spec"]:
        texts.reverse()
    # Before the image data, where some readers stop.
    image_start = next(position for position, chunk in enumerate(kept) if chunk.type == b"IDAT")
    return encode_chunks([*kept[:image_start], *texts, *kept[image_start:]])


def _card_chunk(keyword: str, document: dict[str, Any]) -> Chunk:
    return text_chunk(keyword, base64.b64encode(dump(document).encode()))


def blank_picture(name: str) -> bytes:
    """Return a plain PNG with the first letter of `name`."""
    image = Image.new("RGB", BLANK_SIZE, PAPER)
    font = ImageFont.load_default(size=220)
    letter = next((char for char in name if char.isalnum()), "?").upper()
    ImageDraw.Draw(image).text((BLANK_SIZE[0] / 2, BLANK_SIZE[1] / 2), letter, fill=INK, font=font, anchor="mm")
    return _encode_png(image)


def as_png(picture: bytes) -> bytes:
    """Convert a JPEG or WebP picture to PNG. Raise OSError if it can't be read."""
    with Image.open(io.BytesIO(picture), formats=["JPEG", "WEBP"]) as image:
        return _encode_png(image.convert("RGBA" if "A" in image.getbands() else "RGB"))


def _encode_png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
