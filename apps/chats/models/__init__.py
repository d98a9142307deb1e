"""Models of characters, personas, chats, messages, their swipes, and the log of changes."""

from apps.chats.models.changes import ChatChange as ChatChange
from apps.chats.models.characters import Character as Character
from apps.chats.models.chats import MAX_FOLDER_LENGTH as MAX_FOLDER_LENGTH
from apps.chats.models.chats import MAX_TAG_LENGTH as MAX_TAG_LENGTH
from apps.chats.models.chats import MAX_TAGS as MAX_TAGS
from apps.chats.models.chats import Chat as Chat
from apps.chats.models.chats import Participant as Participant
from apps.chats.models.chats import refuse_comma as refuse_comma
from apps.chats.models.images import Avatar as Avatar
from apps.chats.models.images import CharacterImage as CharacterImage
from apps.chats.models.images import ChatImage as ChatImage
from apps.chats.models.imports import ImportJob as ImportJob
from apps.chats.models.lorebooks import Lorebook as Lorebook
from apps.chats.models.messages import Message as Message
from apps.chats.models.messages import Swipe as Swipe
from apps.chats.models.personas import Persona as Persona
