"""What other apps add to recalls: receivers of a signal, and forms of other programs."""

from collections.abc import Callable

from django.dispatch import Signal

from apps.chats.models import Message
from apps.common.registry import Registry
from apps.prompts.models import Recall

# Sent within the transaction when the text of a stored recall was changed, or it was deleted or restored:
# ``recall``, an apps.prompts.models.Recall. The chat is locked.
recall_changed = Signal()

# Whether a message says all that its recall holds in another program's form, which is exported as it is.
other_forms: Registry[Callable[[Message, Recall], bool]] = Registry()
