"""Generation backends: the built-in one, the servers that users connect, and models in the browser.

``selection`` chooses one for a chat or a connection.
"""
