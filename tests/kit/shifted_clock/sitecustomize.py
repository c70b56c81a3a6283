"""Python runs this when it starts with this folder in PYTHONPATH: its clock is wrong by CLOCK_SHIFT seconds."""

import os
import time

read_clock, read_clock_ns = time.time, time.time_ns
SHIFT = float(os.environ["CLOCK_SHIFT"])
time.time = lambda: read_clock() + SHIFT
time.time_ns = lambda: read_clock_ns() + int(SHIFT * 1e9)
