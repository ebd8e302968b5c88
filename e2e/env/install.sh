#!/usr/bin/env bash
# install.sh FOLDER: a vLLM for CPUs with the Reprise plug-in, and tiny models, below FOLDER.
#
#   FOLDER/venv     the server's Python
#   FOLDER/interp   the stand-in Triton backend; on the PYTHONPATH of V2 servers only, for a V1
#                   server that sees it picks Triton kernels and dies at its first request
#   FOLDER/models   tiny-dense, tiny-moe
#
# Needs python3.11 with venv, gcc, nm, readelf and libnuma. What is up to date stays; the plug-in is
# installed anew each time, which needs no network. Packages come from wherever pip is configured to
# get them; exits with 3 if they cannot be had there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1
venv=$folder/venv
stamp=$(cat "$here"/install.sh "$here"/requirements*.txt "$here"/*.py "$here"/triton_interp/*/*.py | sha256sum | cut -d' ' -f1)

pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }

fetch() { # pip install option...
	pip install --no-compile "$@" && return
	exit 3
}

# Fails within seconds where there is no index; pip itself would try for minutes.
find_index() {
	local found
	found=$(mktemp -d)
	fetch --retries 0 --timeout 20 --no-deps --target "$found" typing_extensions
	rm -rf "$found"
}

# Build from a copy: setuptools leaves its build folders beside the sources.
install_copy() { # SOURCE [pip option...]
	local copy
	copy=$(mktemp -d)
	cp -r "$1/." "$copy"
	shift
	pip install --no-build-isolation --no-index --no-deps --no-compile --upgrade --force-reinstall "$@" "$copy"
	rm -rf "$copy"
}

mkdir -p "$folder"
exec 9>"$folder/lock" # two suites at once install one after the other
flock 9
if [ "$(cat "$folder/stamp" 2>/dev/null)" != "$stamp" ]; then
	rm -rf "$venv" "$folder/interp" "$folder/models" "$folder/stamp"
	python3.11 -m venv "$venv"
	find_index
	fetch --no-deps -r "$here/requirements-pinned.txt"
	fetch -r "$here/requirements.txt"
	site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
	rm -rf "$site"/triton/backends/nvidia/bin "$site"/triton/backends/nvidia/lib/cupti # 0.5 GB that no CPU runs
	"$venv/bin/python" "$here/cuda_stubs.py" "$site"
	"$venv/bin/python" "$here/make_models.py" "$folder/models"
	install_copy "$here/triton_interp" --target "$folder/interp"
	echo "$stamp" >"$folder/stamp"
fi
install_copy "$here/../../integrations/vllm"
