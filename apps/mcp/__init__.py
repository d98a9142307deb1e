"""The MCP server at ``/mcp``: tools and resources for models, and OAuth for the programs that connect to it.

The package of the protocol, ``mcp``, takes a second to load. Only ``server`` imports it, and only the web process loads
that, when ``/mcp`` is first asked.
"""
