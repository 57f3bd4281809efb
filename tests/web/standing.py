"""A service that nothing was asked of yet, for tests of the doors around it."""

from collections.abc import Mapping
from typing import Any

from pinch_server.doors.tokens import Token


class NoQuestions:
    """Has no decisions."""

    def savings(self, asked: Mapping[str, str]) -> dict[str, Any] | None:
        """None, as while pruning is off."""
        del asked
        return None

    def decisions(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """An empty page."""
        del asked
        return {"decisions": [], "next_page_token": ""}

    def decision(self, decision_id: str) -> dict[str, Any] | None:
        """None of that id."""
        del decision_id
        return None


class NoService:
    """Stands still, and remembers how its knobs were turned."""

    def __init__(self) -> None:
        self.turned: list[tuple[dict[str, bool], bool, str | None]] = []

    def state(self) -> dict[str, Any]:
        """Nothing at all."""
        return {}

    def activity(self, days: int) -> dict[str, Any]:
        """No hours."""
        del days
        return {"start": []}

    def knobs(self) -> dict[str, bool]:
        """One knob."""
        return {"enabled": True}

    def turn(self, knobs: Mapping[str, bool], *, persist: bool, token: Token | None, peer: str) -> None:
        """Remembers it."""
        del peer
        self.turned.append((dict(knobs), persist, token.name if token else None))
