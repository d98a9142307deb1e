"""Views of the pages of chats, characters and lorebooks."""
