"""What can be wrong with a request body."""


class BodyError(Exception):
    """The caller's fault: this body is not a request of its dialect.

    Attributes:
        field: The part of the request at fault, as a path.
        problem: What is wrong, and what would mend it.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class NotUnderstoodError(Exception):
    """Valid JSON that this service cannot work on; it must come back as it came."""
