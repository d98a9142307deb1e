"""The MCP server, on the official package. Only ``mount`` loads this module."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from apps.mcp.calls import Refused, current_api
from apps.mcp.resources import RESOURCES, TEMPLATES, MissingResource, read
from apps.mcp.tools import TOOLS
from apps.mcp.tools.arguments import check
from apps.mcp.tools.definitions import Definition

INSTRUCTIONS = (
    "Loci keeps what was said and done in the user's conversations, over years and many programs. Search it with "
    "memory_search before you answer what depends on earlier conversations, and before you say that you don't know "
    "something about the user. Keep what should be remembered with memory_add: one fact in one sentence, with names "
    "instead of pronouns. Correct a wrong memory with memory_update; don't add its opposite."
)
RESOURCE_NOT_FOUND = -32002  # in versions of the protocol that have a code for it

logging.getLogger("mcp").setLevel(logging.WARNING)  # at INFO it reports each request's beginning and end


async def list_tools(context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
    """Return all tools: there are few."""
    _check_page(params)
    return ListToolsResult(tools=[_tool(definition) for definition in TOOLS.values()])


def _tool(definition: Definition) -> Tool:
    annotations = ToolAnnotations(
        title=definition.title,
        read_only_hint=definition.reads,
        destructive_hint=definition.destroys,
        idempotent_hint=definition.reads or definition.repeats_safely,
        open_world_hint=False,
    )
    return Tool(
        name=definition.name,
        title=definition.title,
        description=definition.description,
        input_schema=definition.schema,
        annotations=annotations,
    )


async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
    """Call a tool. What it is refused is a result that names field and reason, which the model can act on."""
    definition = TOOLS.get(params.name)
    if definition is None:
        raise MCPError(INVALID_PARAMS, f"There is no tool {params.name[:100]!r}.")
    try:
        arguments = check(definition.schema, params.arguments or {})
        result = await definition.run(current_api.get(), arguments)
    except Refused as refused:
        return CallToolResult(content=[TextContent(text=str(refused))], is_error=True)
    text = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(text=text)], structured_content=result)


async def list_resources(context: Any, params: PaginatedRequestParams | None) -> ListResourcesResult:
    _check_page(params)
    return ListResourcesResult(
        resources=[
            Resource(uri=uri, name=name, description=description, mime_type="text/markdown")
            for uri, name, description in RESOURCES
        ]
    )


async def list_templates(context: Any, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    _check_page(params)
    return ListResourceTemplatesResult(
        resource_templates=[
            ResourceTemplate(uri_template=uri, name=name, description=description, mime_type="text/markdown")
            for uri, name, description in TEMPLATES
        ]
    )


def _check_page(params: PaginatedRequestParams | None) -> None:
    """Raise MCPError for a cursor: each list has one page, so none was given out."""
    if params is not None and params.cursor:
        raise MCPError(INVALID_PARAMS, "There is no such page: the list has only one.")


async def read_resource(context: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
    try:
        text = await read(current_api.get(), str(params.uri))
    except MissingResource:
        raise MCPError(_code_of_missing(context), f"There is no resource {str(params.uri)[:200]!r}.") from None
    except Refused as refused:
        code = _code_of_missing(context) if refused.status == 404 else INVALID_PARAMS
        raise MCPError(code, str(refused)) from None
    return ReadResourceResult(
        contents=[TextResourceContents(uri=str(params.uri), mime_type="text/markdown", text=text)]
    )


def _code_of_missing(context: Any) -> int:
    """Return the code for a resource that isn't there, in the version of the protocol that the client speaks."""
    return INVALID_PARAMS if context.protocol_version in MODERN_PROTOCOL_VERSIONS else RESOURCE_NOT_FOUND


async def check_name(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Name what a call of a tool lacks, before the protocol's package refuses it without."""
    if ctx.method == "tools/call" and not isinstance((ctx.params or {}).get("name"), str):
        raise MCPError(INVALID_PARAMS, "name: it must be the name of a tool.")
    return await call_next(ctx)


SERVER: Server[Any] = Server(
    "loci",
    title="Loci",
    version="0.1.0",
    instructions=INSTRUCTIONS,
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_list_resource_templates=list_templates,
    on_read_resource=read_resource,
    get_tool_input_schema=lambda name: TOOLS[name].schema if name in TOOLS else None,
)
SERVER.middleware.append(check_name)


async def handle(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
    """Answer one request, of at most 4 MB. Nothing is kept for the next one, which may reach another process."""
    manager = StreamableHTTPSessionManager(SERVER, json_response=True, stateless=True)
    async with manager.run():
        await manager.handle_request(dict(scope), receive, send)
