"""The cost of a door: CPU per paced token, footprint, and how fast a leaving client is heard.

`python -m bench` measures everything, `python -m bench --short` the part that fits in a minute;
`python -m bench.against FOLDER` compares with another checkout.
A peer is one file in `bench/peers/`, a scenario one file in `bench/scenarios/`; both are found by themselves.
"""
