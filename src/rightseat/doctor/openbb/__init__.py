"""`rightseat doctor --openbb URL`: OpenBB's client as far as a server can tell, pointed at any server.

It asks as the client asks, accepts what the client accepts and forgets what the client forgets. What the
client would refuse, lose or ask for without end is broken; what it merely ignores or warns of is said, and
not counted.
"""

from rightseat.doctor.openbb.examine import examine

__all__ = ["examine"]
