"""Plain data that every room speaks: modes, calls, the envelope, plans, approvals and ports.

Lives here: public data, the Protocols of ports, the frames of the wire, and the tables of choices.
May touch: nothing. This room imports no other one.
Start reading: `calls.py` and `envelope.py` (what goes in and comes out), then `ports.py` (what is handed in).
"""
