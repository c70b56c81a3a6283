"""`python -m evals.alternatives`: the drills of several servers with rightseat and with what users might pick instead:
two LiteLLM proxies, two CopilotKit runtimes, a LangGraph server. Prints a table; exits with 1 if rightseat did not
keep what it promises, with 3 if a product could not be installed. What the others do is told and not judged."""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from evals.alternatives import effects, quotas, readers
from evals.alternatives.promises import list_broken
from evals.alternatives.rows import DrillRow, format_table
from tests.peers.install import COULD_NOT_INSTALL, InstallError, install

Measure = Callable[[Path], Awaitable[DrillRow | Sequence[DrillRow]]]


@dataclass(frozen=True)
class Product:
    """`lock` is the folder of tests/peers that it is installed from."""

    measures: Sequence[Measure]
    lock: str = ""


def ignore_folder(measure: Callable[[], Awaitable[DrillRow | Sequence[DrillRow]]]) -> Measure:
    return lambda _home: measure()


PRODUCTS = {
    "rightseat": Product(
        (
            quotas.measure_rightseat,
            partial(quotas.measure_rightseat, live="valkey"),
            ignore_folder(readers.measure_rightseat),
            effects.measure_rightseat,
        )
    ),
    "litellm": Product(
        [ignore_folder(partial(quotas.measure_litellm, has_redis=has_redis)) for has_redis in (False, True)],
        "litellm-proxy",
    ),
    "copilotkit": Product(
        [ignore_folder(readers.measure_copilotkit), ignore_folder(readers.measure_copilotkit_alone)],
        "copilotkit-runtime",
    ),
    "langgraph": Product([effects.measure_langgraph_saved, effects.measure_langgraph_unsaved], "langgraph-server"),
}


async def measure_product(product: Product) -> list[DrillRow]:
    rows: list[DrillRow] = []
    for measure in product.measures:
        with tempfile.TemporaryDirectory(prefix="alternatives-") as home:
            found = await measure(Path(home))
        rows += [found] if isinstance(found, DrillRow) else found
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*PRODUCTS, []], help="default: all")
    names = parser.parse_args().names or list(PRODUCTS)
    rows: list[DrillRow] = []
    missing: list[str] = []
    for name in names:
        product = PRODUCTS[name]
        try:
            if product.lock:
                install(product.lock)
        except InstallError as error:
            missing.append(name)
            print(f"could not install {product.lock}: {error}", file=sys.stderr)
            continue
        rows += asyncio.run(measure_product(product))
    print("\n".join(format_table(rows)))
    broken = list_broken(rows) if "rightseat" in names else []
    for promise in broken:
        print(f"  {promise}")
    if broken:
        return 1
    return COULD_NOT_INSTALL if missing else 0


if __name__ == "__main__":
    sys.exit(main())
