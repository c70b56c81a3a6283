"""`rightseat doctor --openbb URL`: simulate OpenBB's client against any server.

The simulation sends, accepts and drops what the client does, in its current form and that of 2024. What the
client would refuse, lose or request endlessly is broken; what it ignores or warns about is only reported.
examine.py runs all checks. agents.py checks agents.json; events.py validates the events of answers.
simulated_client.py builds requests and keeps the chat. reply.py examines answers and plays a chat.
screen.py shows what a person sees of an answer; ask.py asks one question for it.
"""
