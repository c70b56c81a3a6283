"""The clients' side, a process of its own: `python -m bench.driver SCENARIO JOB` prints its findings."""

import json
import sys

import uvloop

from bench.order import WrongAnswer
from bench.scenarios import find_scenario


def main() -> None:
    name, job = sys.argv[1:]
    scenario = find_scenario(name)
    assert scenario.drive is not None
    try:
        print(json.dumps(uvloop.run(scenario.drive(json.loads(job)))))
    except WrongAnswer as wrong:
        sys.exit(str(wrong))


if __name__ == "__main__":
    main()
