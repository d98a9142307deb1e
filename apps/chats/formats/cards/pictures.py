"""Which pictures are taken: PNG, JPEG and WebP, by what they are and not by what they are called."""

import io
import warnings

from PIL import Image

from apps.chats.formats.cards.png import MAX_PIXELS, MAX_SIDE, is_png, read_chunks

MAX_PICTURE_BYTES = 32 * 2**20
PNG, JPEG, WEBP = "image/png", "image/jpeg", "image/webp"


class BrokenPicture(ValueError):
    """Not a picture that is taken; its text is the reason, in words for a person."""


def media_type_of(content: bytes) -> str:
    """The media type of a sound picture. Raises BrokenPicture, or BrokenPNG."""
    if is_png(content):
        read_chunks(content)
        return PNG
    kind = JPEG if content.startswith(b"\xff\xd8\xff") else WEBP if content[8:12] == b"WEBP" else None
    if kind is None:
        raise BrokenPicture("It is no PNG, JPEG or WebP picture.")
    _check(content)
    return kind


def _check(content: bytes) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit below is ours
            with Image.open(io.BytesIO(content), formats=["JPEG", "WEBP"]) as image:
                width, height = image.size
                if width > MAX_SIDE or height > MAX_SIDE or width * height > MAX_PIXELS:
                    raise BrokenPicture(f"The picture is {width} by {height} pixels; {MAX_PIXELS} in all is most.")
                image.load()
    except (OSError, SyntaxError, Image.DecompressionBombError):
        raise BrokenPicture("The picture is damaged.") from None
