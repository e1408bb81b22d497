"""Command lines: bash syntax, and what a command line may run, write, remove or publish.

Lives here: the parser (`syntax/`), the analysis (`analysis/`), and the text of an approval request.
May touch: nothing. It reads text and answers with data; it never runs or expands anything.
Start reading: `analysis/__init__.py`, from a command line to its plan.
"""
