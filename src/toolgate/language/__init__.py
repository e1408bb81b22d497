"""Language: the texts for people in their language. English is the key; each other language is one table.

Lives here: the tables, and the choice of a language. Text for models, logs and wire messages stays English.
May touch: its own tables, and the environment variables that name a language.
Start reading: `translate.py`.
"""
