"""Render chats and messages as JSON, and validate requests.

Functions render the responses, since REST framework's fields take longer than the query. The serializers of
responses only document them in the schema.
"""

from apps.chats.serializers.chats import CONNECTION_HELP as CONNECTION_HELP
from apps.chats.serializers.chats import ORGANIZATION_FIELDS as ORGANIZATION_FIELDS
from apps.chats.serializers.chats import ChatCreateSerializer as ChatCreateSerializer
from apps.chats.serializers.chats import ChatSerializer as ChatSerializer
from apps.chats.serializers.documents import change_documents as change_documents
from apps.chats.serializers.documents import chat_document as chat_document
from apps.chats.serializers.documents import details_document as details_document
from apps.chats.serializers.documents import message_document as message_document
from apps.chats.serializers.fields import OwnedCharacterField as OwnedCharacterField
from apps.chats.serializers.fields import OwnedChatField as OwnedChatField
from apps.chats.serializers.fields import OwnedConnectionField as OwnedConnectionField
from apps.chats.serializers.fields import OwnedPersonaField as OwnedPersonaField
from apps.chats.serializers.fields import SendDateField as SendDateField
from apps.chats.serializers.fields import TagsField as TagsField
from apps.chats.serializers.messages import MessageSerializer as MessageSerializer
from apps.chats.serializers.messages import WindowSerializer as WindowSerializer
