"""Store images that are uploaded to a chat."""

from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext

from apps.chats.images.encoding import make_image
from apps.chats.images.references import ImageAddress
from apps.chats.locking import lock_chat
from apps.chats.models import ChatImage
from apps.common.problems import Invalid
from apps.common.scoping import Owner

MAX_IMAGES = 500  # of a chat


@transaction.atomic
def add_image(owner: Owner, chat_id: UUID, content: bytes) -> ImageAddress:
    """Store an image with a chat. This is no write to the chat: a message that names the image is.

    Raise BrokenPicture, Missing, and Invalid if the chat has MAX_IMAGES.
    """
    encoded, (width, height) = make_image(content)
    chat = lock_chat(owner, chat_id)
    if chat.images.count() >= MAX_IMAGES:
        raise Invalid.at("/file", gettext("A chat can have %(max_images)s images.") % {"max_images": MAX_IMAGES})
    image = ChatImage.objects.create(owner_id=chat.owner_id, chat=chat, content=encoded)
    return ImageAddress(image.key, width, height)
