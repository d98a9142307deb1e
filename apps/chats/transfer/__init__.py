"""Import and export of chats, character cards and lorebooks; large imports run as background jobs."""
