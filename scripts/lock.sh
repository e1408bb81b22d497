#!/bin/sh
# Lock the dependencies: every package with its version and the hashes of its files, without the address of any index.
#   requirements/dev.txt    what `make setup` installs: everything, and what tests and the documentation need
#   requirements/serve.txt  what `make serve` installs
#   requirements/image.txt  what docker/Dockerfile installs
set -eu
bin=${BIN:-.venv/bin}
image="--extra gateway --extra distributed --extra mcp --extra openai --extra anthropic --extra metrics"
"$bin/python" -m pip install --quiet uv

lock() { # FILE GROUP [OPTIONS]
    output=$1
    shift
    "$bin/uv" pip compile pyproject.toml --group "$@" --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --quiet --output-file "$output" >/dev/null
    if grep -n -e '://' -e '^-' "$output"; then
        echo "lock: the lines above name a place; only name==version and hashes may stand in $output" >&2
        exit 1
    fi
}

# shellcheck disable=SC2086 # the extras are words
lock requirements/dev.txt dev --extra all ${LOCK_ARGS---upgrade}
# The image gets the versions that were tested; its hashes come with them.
# shellcheck disable=SC2086
lock requirements/image.txt build $image --constraint requirements/dev.txt
lock requirements/serve.txt build --extra gateway --extra mcp --extra openai --extra anthropic --constraint requirements/dev.txt
