"""Readers: small functions for what a row of the table cannot say, such as the languages of `sed` and `find`.

Lives here: the functions that the fact `reader` names; `find.fd` is the function `fd` in `find.py`.
May touch: the scope that it is given; it notes what the command runs, writes or removes.
Start reading: `find.py`.
"""
