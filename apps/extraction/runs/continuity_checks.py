"""Whether a reply has been compared with what is known, and whether a run for that alone is due."""

from apps.chats.models import Chat, Message
from apps.extraction.runs.queries import is_read_only, latest_run
from apps.extraction.settings.queries import settings_of
from apps.memories.models import VersionedText


def is_checked(reply: Message) -> bool:
    """Return whether the reply, as it is now, has been compared. Its swipes must be loaded."""
    rows = VersionedText.objects.for_owner(reply.owner_id).filter(
        chat=reply.chat_id, kind=VersionedText.Kind.CONTINUITY, state=VersionedText.State.CURRENT
    )
    return rows.filter(source=reply, swipe=reply.active_swipe.pk, created_at__gte=reply.updated_at).exists()


def check_is_due(chat: Chat) -> bool:
    """Return whether the chat ends with a complete reply that was not compared, and changed since its latest run."""
    if not settings_of(chat).continuity or is_read_only(chat):
        return False
    newest = Message.objects.for_owner(chat.owner_id).filter(chat=chat).with_swipes().order_by("-index").first()
    if newest is None or newest.is_user or newest.is_system or newest.left_out:
        return False
    if newest.is_partial:
        return False
    latest = latest_run(chat.owner_id, chat)
    return (latest is None or latest.chat_rev < chat.rev) and not is_checked(newest)
