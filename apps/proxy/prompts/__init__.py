"""Add what is remembered to a client's messages."""
