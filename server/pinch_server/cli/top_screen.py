"""The live view of `pinch top`."""

from typing import ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.widgets import DataTable, Footer, Header, Static

from pinch_server.cli.top_figures import Figures, Service, look
from pinch_server.rpc.watching import NotAnsweredError

_COLUMNS = ("made (UTC)", "model", "tokens", "saved", "ordered by", "ms", "outcome")


class TopScreen(App[None]):
    """Looks at a service again and again, until q is pressed.

    Args:
        service: The service.
        address: Where it is, for the title.
        every: Time between two looks (seconds).
    """

    CSS = """
    #figures { padding: 1 2; height: auto; }
    DataTable { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("q", "quit", "Quit"), ("r", "look", "Look now")]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, service: Service, address: str, every: float) -> None:
        super().__init__()
        self._service = service
        self._every = every
        self.title = "Pinch"
        self.sub_title = address

    def compose(self) -> ComposeResult:
        """The figures above, the last decisions below."""
        yield Header()
        yield Static("looking …", id="figures", markup=False)
        yield DataTable(cursor_type="row", zebra_stripes=True)
        yield Footer()

    def on_mount(self) -> None:
        """Begins to look."""
        self.query_one(DataTable).add_columns(*_COLUMNS)
        self.set_interval(self._every, self.action_look)
        self.action_look()

    @work(thread=True, exclusive=True, group="look")
    def action_look(self) -> None:
        """Looks, off the thread that draws."""
        try:
            figures = look(self._service)
        except NotAnsweredError as error:
            self.call_from_thread(self._tell, str(error))
        else:
            self.call_from_thread(self._show, figures)

    def _tell(self, problem: str) -> None:
        self.query_one("#figures", Static).update(problem)

    def _show(self, figures: Figures) -> None:
        words = "\n".join(f"{name:<10}  {value}" for name, value in figures.facts())
        self.query_one("#figures", Static).update(words)
        table = self.query_one(DataTable)
        table.clear()
        for row in figures.rows():
            table.add_row(*row)
