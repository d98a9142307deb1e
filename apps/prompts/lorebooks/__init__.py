"""What lorebooks say about the recent messages: keys, entries, and where they stand in a prompt."""
