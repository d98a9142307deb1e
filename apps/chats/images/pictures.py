"""Check uploaded pictures. PNG, JPEG and WebP are accepted, detected by content, not by name."""

import io
import warnings

from django.utils.translation import gettext
from PIL import Image

from apps.chats.images.png import MAX_PIXELS, MAX_SIDE, is_png, read_chunks

MAX_PICTURE_BYTES = 32 * 2**20
PNG, JPEG, WEBP = "image/png", "image/jpeg", "image/webp"


class BrokenPicture(ValueError):
    """The picture is not accepted. The text of the exception is a message for the user."""


def media_type_of(content: bytes) -> str:
    """Return the media type of a valid picture. Raise BrokenPicture or BrokenPNG."""
    if is_png(content):
        read_chunks(content)
        return PNG
    media_type = JPEG if content.startswith(b"\xff\xd8\xff") else WEBP if content[8:12] == b"WEBP" else None
    if media_type is None:
        raise BrokenPicture(gettext("It is not a PNG, JPEG or WebP picture."))
    _check(content)
    return media_type


def _check(content: bytes) -> None:
    """Decode a JPEG or WebP picture. Raise BrokenPicture if it is damaged or too large."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit below is lower
            with Image.open(io.BytesIO(content), formats=["JPEG", "WEBP"]) as image:
                width, height = image.size
                if width > MAX_SIDE or height > MAX_SIDE or width * height > MAX_PIXELS:
                    raise BrokenPicture(
                        gettext("The picture is %(width)s by %(height)s pixels; the limit is %(max_pixels)s pixels.")
                        % {"width": width, "height": height, "max_pixels": MAX_PIXELS}
                    )
                image.load()
    except (OSError, SyntaxError, Image.DecompressionBombError):
        raise BrokenPicture(gettext("The picture is damaged.")) from None
