"""Re-encode uploaded pictures: small, and without metadata such as the place where a photo was taken."""

import io
import warnings

from django.utils.translation import gettext
from PIL import Image, ImageOps

from apps.chats.images.pictures import BrokenPicture

MAX_UPLOAD_BYTES = 10 * 2**20
# A decoded picture takes up to 4 bytes for each of them.
MAX_PIXELS = 25_000_000
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
AVATAR_SIDE = 192  # pixels: twice the largest size on a page
QUALITY = 82  # of WebP, 0 to 100
IMAGE_SIDE = 1600  # pixels: the longer side of an image in a message
# The part of a portrait that an avatar shows: the middle, and near the top, where the face is.
FACE = (0.5, 0.2)


def make_avatar(content: bytes) -> bytes:
    """Return a picture as a square WebP of AVATAR_SIDE pixels. Raise BrokenPicture."""
    return _encode(ImageOps.fit(_decode(content, AVATAR_SIDE), (AVATAR_SIDE, AVATAR_SIDE), centering=FACE))


def make_image(content: bytes) -> tuple[bytes, tuple[int, int]]:
    """Return a picture as a WebP whose longer side has at most IMAGE_SIDE pixels, and its size. Raise BrokenPicture."""
    image = _decode(content, IMAGE_SIDE)
    image.thumbnail((IMAGE_SIDE, IMAGE_SIDE))
    return _encode(image), image.size


def _decode(content: bytes, side: int) -> Image.Image:
    """Return the first frame of a picture, upright, in RGB or RGBA. It may be scaled down to about ``side`` pixels.

    Raise BrokenPicture if it is damaged, too large or of another type.
    """
    if len(content) > MAX_UPLOAD_BYTES:
        raise BrokenPicture(
            gettext("The picture is larger than %(number)s MiB.") % {"number": MAX_UPLOAD_BYTES // 2**20}
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit below is lower
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                _check_size(*image.size)
                image.draft(None, (2 * side, 2 * side))  # a large JPEG is decoded at a fraction of its size
                upright = ImageOps.exif_transpose(image)
                return upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    except BrokenPicture:
        raise
    except Image.UnidentifiedImageError:
        raise BrokenPicture(gettext("It is not a PNG, JPEG, WebP or GIF picture.")) from None
    except Exception:  # damaged files make the decoders raise almost anything
        raise BrokenPicture(gettext("The picture is damaged.")) from None


def _check_size(width: int, height: int) -> None:
    """Raise BrokenPicture for a picture that would take too much memory, before it is decoded."""
    if width * height > MAX_PIXELS:
        limit = MAX_PIXELS // 1_000_000
        raise BrokenPicture(
            gettext("The picture is %(width)s by %(height)s pixels; the limit is %(limit)s million pixels.")
            % {"width": width, "height": height, "limit": limit}
        )


def _encode(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.info = {}  # the metadata, which Pillow would save again
    image.save(file, "WEBP", quality=QUALITY)
    return file.getvalue()
