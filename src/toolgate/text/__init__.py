"""Text safety: what a person or a model reads cannot hide anything, steer a terminal or show a secret.

Lives here: characters that hide, terminal escapes, redaction of secrets in whole texts and in streams.
May touch: nothing but text. Every surface uses this room.
Start reading: `visible.py` for characters, `redaction.py` for secrets.
"""
