#!/bin/sh
# Lock the dependencies: name==version lines only, without the address of any index.
set -eu
bin=${BIN:-.venv/bin}
"$bin/python" -m pip install --quiet uv
"$bin/uv" pip compile pyproject.toml --group dev --extra cli --extra gateway --extra postgres --extra openai --extra anthropic --extra mcp --extra otel --extra metrics --extra distributed --universal --python-version 3.11 --upgrade \
    --no-header --no-annotate --quiet --output-file requirements/dev.txt >/dev/null
if grep -n -e '://' -e '^-' requirements/dev.txt; then
    echo "lock: the lines above name a place; only name==version may stand in requirements/dev.txt" >&2
    exit 1
fi
