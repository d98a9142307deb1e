"""OAuth 2.1 for MCP clients, on oauthlib: metadata, registration, consent, tokens.

Access tokens are API tokens: they are checked, listed and revoked as these are.
"""
