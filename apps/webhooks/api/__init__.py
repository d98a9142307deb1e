"""API of webhooks and their deliveries."""
