#!/usr/bin/env bash
# test.sh FOLDER: the tests and types of the Python packages beside this file, without a server. Their
# Python environment stays in FOLDER. Parts that need torch are run by the end-to-end tests (e2e/).
#
# Prints one line and passes where there is no python3.11 with venv, or no package index.
set -euo pipefail

mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
python=$folder/bin/python

skip() {
	echo "integrations: skipped: $1"
	exit
}

python3.11 -c 'import venv, ensurepip' 2>/dev/null || skip "there is no python3.11 with venv"
if ! "$python" -c 'import pytest, mypy, numpy' 2>/dev/null; then
	python3.11 -m venv "$folder"
	"$python" -m pip install -qqq --disable-pip-version-check --retries 0 --timeout 30 pytest mypy numpy ||
		skip "pytest, mypy and numpy cannot be installed"
fi
export PYTHONDONTWRITEBYTECODE=1
for package in */pyproject.toml; do
	package=$(dirname "$package")
	echo "$package"
	(cd "$package" && "$python" -m pytest -q -p no:cacheprovider && "$python" -m mypy --cache-dir /dev/null)
done
