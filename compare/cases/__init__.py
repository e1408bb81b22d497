"""One module per case: what is counted, and how. Each module defines one or more `Case` objects."""
