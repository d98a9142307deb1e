"""Signals about recalls. Apps of higher layers connect their receivers in ``AppConfig.ready()``."""

from django.dispatch import Signal

# Sent within the transaction when the text of a stored recall was changed, or it was deleted or restored:
# ``recall``, an apps.prompts.models.Recall. The chat is locked.
recall_changed = Signal()
