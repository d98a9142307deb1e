"""OpenAI-compatible proxy: match a client's messages with a stored chat, add memories, pass the model's reply on."""
