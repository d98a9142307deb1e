"""The note that repairs a contradiction, and its place on the chat page."""
