"""Tools: the class, the decorator, the context that they run in, and the built-in ones."""
