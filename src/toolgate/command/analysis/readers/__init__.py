"""Readers: functions that analyse what a row of the table cannot describe, such as the languages of `sed` and `find`.

Lives here: the functions that the fact `reader` names; `files.copy` is the function `copy` in `files.py`.
May touch: the scope that it is given; it notes what the command runs, writes or removes.
Start reading: `find.py`.
"""
