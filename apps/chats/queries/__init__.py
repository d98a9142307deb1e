"""Read chats, messages, characters, personas and lorebooks."""

from apps.chats.queries.access import access_avatar as access_avatar
from apps.chats.queries.access import access_character as access_character
from apps.chats.queries.access import access_chat as access_chat
from apps.chats.queries.access import access_chat_image as access_chat_image
from apps.chats.queries.access import access_lorebook as access_lorebook
from apps.chats.queries.access import access_message as access_message
from apps.chats.queries.access import access_persona as access_persona
from apps.chats.queries.characters import image_of as image_of
from apps.chats.queries.characters import list_characters as list_characters
from apps.chats.queries.chats import Overview as Overview
from apps.chats.queries.chats import list_chats as list_chats
from apps.chats.queries.chats import overview_of as overview_of
from apps.chats.queries.lorebooks import lorebook_of as lorebook_of
from apps.chats.queries.lorebooks import lorebooks_in as lorebooks_in
from apps.chats.queries.lorebooks import lorebooks_of_chat as lorebooks_of_chat
from apps.chats.queries.messages import MAX_WINDOW as MAX_WINDOW
from apps.chats.queries.messages import Window as Window
from apps.chats.queries.messages import message_batches as message_batches
from apps.chats.queries.messages import message_window as message_window
from apps.chats.queries.personas import avatars_of as avatars_of
from apps.chats.queries.personas import default_persona as default_persona
from apps.chats.queries.personas import list_personas as list_personas
from apps.chats.queries.rounds import MAX_ROUNDS as MAX_ROUNDS
from apps.chats.queries.rounds import Round as Round
from apps.chats.queries.rounds import rounds_of as rounds_of
