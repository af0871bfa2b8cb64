#!/usr/bin/env bash
# Builds a wheel against PyPI's torch, installs it in a fresh environment and runs the package's tests, mypy and ruff there.
# VENV is where (build/venvs by default), TORCH the version, PYTHON the interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."
venvs=${VENV:-build/venvs}
python=${PYTHON:-/usr/bin/python3}
torch=${TORCH:-2.13.0}  # a CPU build: others pull gigabytes of CUDA

"$python" -m venv --clear "$venvs/builder"
"$venvs/builder/bin/pip" install --quiet "torch==$torch" setuptools wheel pybind11 numpy
rm -rf build/wheels
"$venvs/builder/bin/pip" wheel --quiet --no-build-isolation --no-deps --wheel-dir build/wheels .
ls -l build/wheels

"$python" -m venv --clear "$venvs/tester"
"$venvs/tester/bin/pip" install --quiet "torch==$torch" torch_geometric scikit-learn pandas networkx POT hypothesis pytest mypy ruff tqdm tensorboard
"$venvs/tester/bin/pip" install --quiet --no-deps build/wheels/qw-*.whl
# Tests of files that qw writes need the program of `make build`.
QW_PROGRAM=${QW_PROGRAM:-$PWD/build/release/qw} PYTHONDONTWRITEBYTECODE=1 \
  "$venvs/tester/bin/python" -P -m pytest -q -rs python/tests
"$venvs/tester/bin/ruff" check python examples/python bench/python setup.py
"$venvs/tester/bin/mypy" --config-file pyproject.toml
