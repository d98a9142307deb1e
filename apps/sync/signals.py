"""Signals about writes to settings. Apps of higher layers connect their receivers in ``AppConfig.ready()``."""

from django.dispatch import Signal

# Sent with ``owner_id``, its settings locked and not yet changed, inside the transaction of a write that skips the
# integrity check.
before_forced_settings_write = Signal()
