"""Store what a request changed in its chat, and what the model replied."""
