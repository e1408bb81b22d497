#!/bin/sh
# Make an environment with the lowest versions that pyproject.toml allows: scripts/lowest.sh VENV
set -eu
bin=${BIN:-.venv/bin}
venv=$1
"$bin/python" -m pip install --quiet uv
[ -x "$venv/bin/python" ] || "$bin/python" -m venv --without-pip --clear "$venv"
"$bin/uv" pip compile pyproject.toml --extra all --group dev --resolution lowest-direct --no-header --no-annotate \
    --quiet --output-file "$venv/lowest.txt" >/dev/null
"$bin/python" scripts/floors.py "$venv/lowest.txt"
echo "lowest: installing the versions of $venv/lowest.txt"
"$bin/uv" pip install --quiet --python "$venv/bin/python" --requirement "$venv/lowest.txt"
"$bin/uv" pip install --quiet --python "$venv/bin/python" --no-deps --no-build-isolation --editable .
