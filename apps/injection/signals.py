"""Signals about recalls."""

from django.dispatch import Signal

# Sent within the transaction when the text of a stored recall was changed, or it was deleted or restored:
# ``recall``, an injection.models.Recall. The chat is locked.
recall_changed = Signal()
