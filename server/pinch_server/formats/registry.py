"""Every dialect, once. Adding one takes its file and a line here."""

from collections.abc import Mapping
from typing import Final

from pinch_server.formats.anthropic import ANTHROPIC
from pinch_server.formats.bedrock import BEDROCK
from pinch_server.formats.dialect import Dialect
from pinch_server.formats.format import Format
from pinch_server.formats.gemini import GEMINI
from pinch_server.formats.openai_chat import OPENAI_CHAT
from pinch_server.formats.openai_responses import OPENAI_RESPONSES

DIALECTS: Final[Mapping[Format, Dialect]] = {
    dialect.format: dialect for dialect in (OPENAI_CHAT, ANTHROPIC, BEDROCK, OPENAI_RESPONSES, GEMINI)
}
"""All dialects by format, in the order in which a body without tool results is taken for one."""
