"""Call the owner's model server, and pass its reply on."""
