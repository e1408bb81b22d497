"""Language: the texts for people in their language. English is the key; each other language is one table.

Text for models, logs and wire messages stay English and never come here. This room reads its own tables and the
variables that name a language, and nothing else. Start reading in `translate.py`.
"""
