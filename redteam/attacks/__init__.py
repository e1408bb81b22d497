"""One module per class of attack; each function registers itself with `@attack`."""
