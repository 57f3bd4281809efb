"""What a knob's type cannot say: its bound, its legal forms in words, and how a secret is shown."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from pinch_server.core.limits import Bound
from pinch_server.settings.checks import shown


@dataclass(frozen=True, slots=True)
class Within:
    """Holds a number to its bound."""

    bound: Bound

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Checks the bound once the type is right."""
        return core_schema.no_info_wrap_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """States the bound in the JSON schema."""
        stated = {"minimum": self.bound.low, "maximum": self.bound.high}
        return handler(schema) | (
            stated if self.bound.zero_means is None else {"anyOf": [{"const": 0}, stated]}
        )

    def _checked(self, value: object, inner: Callable[[object], Any]) -> object:
        if isinstance(value, bool):
            # Python counts true as 1; nobody who writes it means that.
            raise ValueError(  # noqa: TRY004 pydantic gathers ValueErrors only
                f"{str(value).lower()} is not a number; give {self.bound}"
            )
        number = inner(value)
        if number is not None and not self.bound.admits(number):
            raise ValueError(f"{shown(number)} is out of range; give {self.bound}")
        return number


@dataclass(frozen=True, slots=True)
class Told:
    """Words about a knob.

    Attributes:
        legal: What the value may be.
        default: The default in words, where the value itself does not say it.
        hide: Makes a secret fit to be shown; None where the value may be seen as it is.
    """

    legal: str
    default: str = ""
    hide: Callable[[str], str] | None = None
