"""The recap of a chat for an owner who comes back after an absence."""
