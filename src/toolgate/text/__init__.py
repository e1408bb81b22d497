"""Text safety: text for people and models hides nothing, controls no terminal and shows no secret.

Lives here: hidden characters, terminal escapes, redaction of secrets in whole texts and in streams.
May touch: text, and the environment variables that hold keys of models. Every surface uses this room.
Start reading: `visible.py` for characters, `redaction.py` for secrets.
"""
