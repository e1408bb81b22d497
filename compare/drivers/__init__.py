"""One module per contender: a `Contender` that drives its tools through its public API, at its safest settings.

The packages are imported inside `load` and the methods: `python -m compare` reads every module, too.
"""
