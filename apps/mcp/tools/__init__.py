"""The tools of the MCP server, by name. None of them knows the protocol's package."""

from apps.mcp.tools import chats, journal, memories, syncing

TOOLS = {tool.name: tool for tool in (*memories.TOOLS, *chats.TOOLS, *journal.TOOLS, *syncing.TOOLS)}
