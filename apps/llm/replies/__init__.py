"""Parse responses of model servers, streamed or whole."""
