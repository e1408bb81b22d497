"""The web: fetches public pages for a model, and searches.

Lives here: addresses that may be reached, one GET over a checked address, HTML as Markdown, search providers.
May touch: sockets to public addresses, and a process of its own that converts a page.
Start reading: `fetch.py`, then `addresses.py` and `connection.py`.
"""
