"""Models that run in an open page: their calls, the stream that tells pages of them, and the settings page."""
