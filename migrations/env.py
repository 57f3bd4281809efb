"""How Alembic reaches the database: the connection that `pinch migrate` made, or one of its own."""

import os
from logging.config import fileConfig

from alembic import context
from sqlalchemy import Connection

from pinch_server.store.engine import read_url
from pinch_server.store.migrate import migrating
from pinch_server.store.tables import metadata

_URL_VARIABLE = "PINCH_STORE__DATABASE_URL"


def _url() -> str:
    given = context.get_x_argument(as_dictionary=True).get("url") or os.environ.get(_URL_VARIABLE)
    return str(given or context.config.get_main_option("sqlalchemy.url") or "")


def _run(connection: Connection) -> None:
    # SQLite cannot alter a column in place: batches rebuild the table instead.
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        compare_server_default=True,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def _print() -> None:
    """Print the SQL instead of running it (`--sql`)."""
    url = context.config.attributes.get("url") or _url()
    context.configure(
        dialect_name=read_url(url).get_backend_name(),
        target_metadata=metadata,
        literal_binds=True,
        transactional_ddl=True,
        output_buffer=context.config.output_buffer,
    )
    with context.begin_transaction():
        context.run_migrations()


def _main() -> None:
    given: Connection | None = context.config.attributes.get("connection")
    if given is None and context.config.config_file_name is not None:
        fileConfig(context.config.config_file_name, disable_existing_loggers=False)
    if context.is_offline_mode():
        _print()
    elif given is not None:
        _run(given)
    else:
        with migrating(_url()) as connection:
            _run(connection)


_main()
