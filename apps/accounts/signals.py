"""Signals of accounts."""

from django.dispatch import Signal

# A token was revoked. Sent with its ``owner_id`` in the transaction of the change.
token_revoked = Signal()

# Sent with ``owner_id`` inside the transaction that is about to delete an account.
account_deleting = Signal()
