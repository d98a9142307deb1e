"""References to uploaded images in the text of messages, in Markdown: ``![words](image:KEY/800x600)``.

The size in the reference keeps the room for the image while it loads.
"""

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from apps.chats.models import Chat, ChatImage

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ADDRESS = re.compile(rf"image:({_UUID})/(\d{{1,4}})x(\d{{1,4}})")
_REFERENCE = re.compile(rf"\]\(image:({_UUID})/\d{{1,4}}x\d{{1,4}}\)")


@dataclass(frozen=True)
class ImageAddress:
    """The key of an image, and its size in pixels."""

    key: UUID
    width: int
    height: int

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the address that ``text`` is, or None."""
        match = _ADDRESS.fullmatch(text)
        return cls(UUID(match[1]), int(match[2]), int(match[3])) if match else None

    def __str__(self) -> str:
        return f"image:{self.key}/{self.width}x{self.height}"


def keys_in(text: str) -> set[UUID]:
    """Return the keys of the images that a text names."""
    return {UUID(key) for key in _REFERENCE.findall(text)}


def with_data_urls(chat: Chat, text: str) -> str:
    """Return a text, or JSON that has texts, in which data URLs stand for the addresses of the chat's images."""
    keys = keys_in(text)
    images = ChatImage.objects.for_owner(chat.owner_id).filter(chat=chat, key__in=keys) if keys else ()
    data_urls = {str(image.key): _data_url(image) for image in images}

    def replace(match: re.Match[str]) -> str:
        data_url = data_urls.get(match[1])
        return f"]({data_url})" if data_url else match[0]

    return _REFERENCE.sub(replace, text)


def _data_url(image: ChatImage) -> str:
    return f"data:image/webp;base64,{base64.b64encode(image.content).decode()}"


def copy_images(keys: Iterable[UUID], chat: Chat, to: Chat) -> None:
    """Copy the images with these keys to another chat, whose texts name them too."""
    images = ChatImage.objects.for_owner(chat.owner_id).filter(chat=chat, key__in=keys)
    for image in images.iterator(20):
        ChatImage.objects.create(owner_id=to.owner_id, chat=to, key=image.key, content=image.content)
