"""Token usage of an owner's connections: totals, daily limits, and how both are shown."""
