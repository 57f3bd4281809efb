"""The tools that the invented agent has, as definitions."""

from __future__ import annotations

from typing import Any

from bench.conversations.session import ToolDefinition


def _tool(name: str, description: str, required: str, optional: str = "") -> ToolDefinition:
    properties: dict[str, Any] = {field: {"type": "string"} for field in required.split()}
    properties |= {field: {"type": "integer"} for field in optional.split()}
    schema = {"type": "object", "properties": properties, "required": required.split()}
    return ToolDefinition(name, description, schema)


_CORE = (
    _tool("read_file", "Read a text file; lines are numbered from 1.", "path", "offset limit"),
    _tool("search_code", "Search the project for a fixed string and print path:line:code.", "query"),
    _tool("run_command", "Run a shell command in the project's root and return what it printed.", "command"),
    _tool(
        "edit_file",
        "Replace one piece of a file; the old text must occur exactly once.",
        "path old_text new_text",
    ),
)
_MORE = (
    _tool("list_files", "List a directory of the project.", "path", "depth"),
    _tool("write_file", "Create or overwrite a file with the given content.", "path content"),
    _tool("http_request", "Call an internal HTTP API and return the body of its answer.", "method url"),
    _tool("query_table", "Run a read-only SQL query and return comma-separated values.", "sql"),
    _tool("fetch_page", "Fetch a page of the team's documentation as Markdown.", "url"),
    _tool("screenshot", "Render a page of the running application and return a picture of it.", "url"),
    _tool("update_plan", "Replace the list of open steps; call it when a step is finished.", "plan"),
)


def toolbox(characters: int) -> tuple[ToolDefinition, ...]:
    """The definitions for a session of ``characters``: a small session has only the core ones."""
    return _CORE if characters < 20_000 else _CORE + _MORE
