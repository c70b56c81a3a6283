"""`rightseat store move`: all that one store keeps, carried over to another."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import unquote, urlsplit

import typer
from msgspec import Struct

from rightseat.config.secret import Secret, is_reference, mask, resolve_reference
from rightseat.errors import ConfigError
from rightseat.server.terminal_progress import show_count, show_spinner
from rightseat.stores.sqlite.store import DATABASE_FILE
from rightseat.stores.transfer import (
    BATCH_ROWS,
    KIND_LABELS,
    ROW_KINDS,
    KindComparison,
    RowSource,
    RowTarget,
    SourceSummary,
    Transfer,
    TransferState,
    summarize_source,
)
from rightseat.wiring.storage import require_cluster_modules

SQLITE_SCHEME = "sqlite"
POSTGRES_SCHEMES = ("postgres", "postgresql")
MAX_LINES = 20
"""The most rows that are named one by one."""
ADDRESS_FORMS = "Write sqlite:///PATH/TO/DATA, postgresql://USER@HOST/DATABASE, or env:NAME of a variable that has it."
MAX_CLOCK_SHIFT = 1.0
"""Seconds that clocks may differ without a correction of the times of expiry."""


class StoreAddress(Struct, frozen=True):
    """Folder of a SQLite store, or URL of a PostgreSQL database."""

    folder: Path | None = None
    url: str = ""


class MoveOptions(Struct, frozen=True, kw_only=True):
    schema: str
    is_into_existing: bool = False
    is_dry_run: bool = False
    batch: int = BATCH_ROWS


def parse_address(text: str, role: str) -> StoreAddress:
    """Return the store that an address names; raises ConfigError that repeats no password."""
    value = resolve_reference(text, role).reveal() if is_reference(text) else text
    parts = urlsplit(value)
    if parts.scheme == SQLITE_SCHEME:
        path = unquote(parts.netloc + parts.path)
        folder = Path("/" + path.lstrip("/") if path.startswith("/") else path).expanduser()
        if not path.strip("/"):
            raise ConfigError(f"{role} names no folder. {ADDRESS_FORMS}")
        return StoreAddress(folder=folder.parent if folder.name == DATABASE_FILE else folder)
    if parts.scheme in POSTGRES_SCHEMES:
        require_cluster_modules(f"{role} is a PostgreSQL database and")
        if "@" in parts.netloc and ":" in parts.netloc.rpartition("@")[0] and not is_reference(text):
            # Known from here on: no line repeats it.
            Secret(value)
            Secret(unquote(parts.netloc.rpartition("@")[0].partition(":")[2]))
            typer.echo(f"{role} has a password that others can see in the list of processes: write env:NAME.", err=True)
        return StoreAddress(url=value)
    raise ConfigError(f"{role} is no address of a store. {ADDRESS_FORMS}")


def open_source(address: StoreAddress, schema: str, stack: ExitStack) -> RowSource:
    if address.folder is not None:
        # Imported here, as below: each needs what the other does not.
        from rightseat.stores.sqlite.transfer import SQLiteRowSource

        return stack.enter_context(closing(SQLiteRowSource(address.folder)))
    from rightseat.stores.postgres.transfer import PostgresRowSource

    return stack.enter_context(closing(PostgresRowSource(address.url, schema)))


def open_target(address: StoreAddress, schema: str, stack: ExitStack) -> RowTarget:
    if address.folder is not None:
        from rightseat.stores.sqlite.transfer import SQLiteRowTarget

        return stack.enter_context(closing(SQLiteRowTarget(address.folder)))
    from rightseat.stores.postgres.transfer import PostgresRowTarget

    return stack.enter_context(closing(PostgresRowTarget(address.url, schema)))


def move_store(source_text: str, target_text: str, options: MoveOptions) -> int:
    """Move all rows and print what was done; returns 1 if something is not in the target as it was in the source."""
    addresses = parse_address(source_text, "SOURCE"), parse_address(target_text, "TARGET")
    if addresses[0] == addresses[1]:
        raise ConfigError("SOURCE and TARGET are the same store.")
    with ExitStack() as stack:
        source = open_source(addresses[0], options.schema, stack)
        with show_spinner("Reading the source"):
            summary = summarize_source(source)
        if options.is_dry_run:
            return print_counts(source, summary)
        target = open_target(addresses[1], options.schema, stack)
        state, is_done = begin_move(source, target, summary, options)
        transfer = Transfer(source, target, summary, state, options.batch)
        if is_done:
            typer.echo(f"{source.name} has been moved to {target.name} before: nothing to do.")
            return print_skipped(transfer.list_skipped())
        if state.is_into_existing and not state.kind and state.place is None:
            transfer.find_kept_rows()
        target.save_state(state)
        with show_count("Moving") as report:
            transfer.write(report)
        with show_count("Comparing") as report:
            comparisons = transfer.compare(report)
        return finish_move(transfer, comparisons)


def begin_move(
    source: RowSource, target: RowTarget, summary: SourceSummary, options: MoveOptions
) -> tuple[TransferState, bool]:
    """Return the state of this move and whether it was finished before; raises ConfigError if it may not begin."""
    state = target.load_state()
    if state is not None and state.source == source.name:
        if state.fingerprint == summary.fingerprint_text:
            if not state.is_finished:
                typer.echo("Goes on where the last call stopped.", err=True)
            return state, state.is_finished
        if not state.is_finished:
            raise ConfigError(
                f"{source.name} has changed since its move into {target.name} began: a server has used it. Empty the "
                "target (drop the schema, or delete the file *.moving), and move again."
            )
    elif state is not None and not state.is_finished:
        raise ConfigError(f"A move from {state.source} into {target.name} is not finished. Finish that one first.")
    if target.has_rows() and not options.is_into_existing:
        raise ConfigError(
            f"{target.name} holds other data. Name an empty one, such as another --schema, or add to it with "
            "--into-existing: what it has stays as it is."
        )
    shift = target.clock_offset - source.clock_offset
    return TransferState(
        source=source.name,
        fingerprint=summary.fingerprint_text,
        clock_shift=shift if abs(shift) > MAX_CLOCK_SHIFT else 0.0,
        is_into_existing=options.is_into_existing,
    ), False


def print_counts(source: RowSource, summary: SourceSummary) -> int:
    typer.echo(f"{source.name} has:")
    for kind in ROW_KINDS:
        typer.echo(f"  {summary.counts[kind]:>9,} {KIND_LABELS[kind]}")
    typer.echo("Nothing was written.")
    return print_skipped(summary.problems)


def print_skipped(lines: Iterable[str]) -> int:
    """Print what is not moved; returns 1 if there is something."""
    count = 0
    for line in lines:
        count += 1
        if count <= MAX_LINES:
            typer.echo(mask(line), err=True)
    if count > MAX_LINES:
        typer.echo(f"… and {count - MAX_LINES:,} more.", err=True)
    return 1 if count else 0


def finish_move(transfer: Transfer, comparisons: list[KindComparison]) -> int:
    """Print the comparison; the move is finished if all that can be moved is there."""
    for comparison in comparisons:
        counted = f"{comparison.count:>9,} {KIND_LABELS[comparison.kind]}"
        if comparison.is_equal:
            typer.echo(f"  {counted:<36} checksum {comparison.checksum:016x}")
        else:
            there = f"{comparison.target_count:,} in the target, checksum {comparison.target_checksum:016x}"
            typer.echo(f"  {counted:<36} checksum {comparison.checksum:016x} differs: {there}")
    if not all(comparison.is_equal for comparison in comparisons):
        print_skipped(line for comparison in comparisons for line in comparison.differing)
        typer.echo("The target is not equal to the source, and no server starts with it.", err=True)
        typer.echo("Empty it (drop the schema, or delete the file *.moving), and move again.", err=True)
        return 1
    transfer.state.is_finished = True
    transfer.target.finish(transfer.state)
    typer.echo(f"Moved {transfer.source.name} to {transfer.target.name}. The source is as it was.")
    code = print_skipped(transfer.list_skipped())
    if code:
        typer.echo("All else is in the target, equal to the source.", err=True)
    return code
