"""Build tiny stand-ins for the CUDA libraries that the torch wheel needs only to be loaded.

A machine without a GPU never calls them; they satisfy the dynamic linker. Each function returns
100, CUDA's "no device". Python loads with RTLD_NOW, so every undefined symbol has to exist, under
the right symbol version (spec/vllm-cpu-live.md 2). Needs gcc, nm and readelf.

usage: cuda_stubs.py SITE_PACKAGES
"""

from __future__ import annotations

import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

Symbols = dict[str, str]  # symbol -> version, "" if unversioned

# Which library an unversioned symbol belongs to; the first prefix that matches decides.
PREFIXES = [
    ("__cuda", "libcudart.so.13"),
    ("cudnn", "libcudnn.so.9"),
    ("cuda", "libcudart.so.13"),
    ("cupti", "libcupti.so.13"),
    ("cusparseLt", "libcusparseLt.so.0"),
    ("cusparse", "libcusparse.so.12"),
    ("cublasLt", "libcublasLt.so.13"),
    ("cublas", "libcublas.so.13"),
    ("cufft", "libcufft.so.12"),
    ("cuFile", "libcufile.so.0"),
    ("curand", "libcurand.so.10"),
    ("nccl", "libnccl.so.2"),
    ("pnccl", "libnccl.so.2"),
    ("cusolver", "libcusolver.so.12"),
    ("nvrtc", "libnvrtc.so.13"),
    ("nvshmem", "libnvshmem_host.so.3"),
    ("nvPTX", "libnvrtc.so.13"),
    ("nvJitLink", "libnvJitLink.so.13"),
    ("cu", "libcuda.so.1"),
]

RETURNS_TEXT = re.compile(r"[gG]etErrorString|[gG]etErrorName|GetLastError$|get_error")


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def wanted(lib: Path) -> dict[str, Symbols]:
    """The CUDA libraries that torch's own libraries name, with the symbols they miss."""
    missing: dict[str, Symbols] = {}
    unversioned: dict[str, Symbols] = collections.defaultdict(dict)
    for file in sorted(lib.glob("*.so")):
        if file.is_symlink():
            continue
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", str(file)))
        for soname in needed:
            if re.match(r"lib(cu|nv|nccl)", soname):
                missing.setdefault(soname, {})
        for line in output_of("nm", "-D", "--undefined-only", str(file)).splitlines():
            name, _, version = line.split()[-1].partition("@")
            version = version.lstrip("@")
            soname = library_of(name, version)
            if soname:
                unversioned[soname][name] = version or unversioned[soname].get(name, "")
    for soname, symbols in missing.items():
        symbols.update(unversioned.get(soname, {}))
    return missing


def library_of(symbol: str, version: str) -> str | None:
    if version.startswith("lib"):
        return version
    if re.match(r"GLIBC|GCC|CXXABI|OMP|GOMP", version):
        return None
    return next((soname for prefix, soname in PREFIXES if symbol.startswith(prefix)), None)


def source(symbols: Symbols) -> str:
    lines = ['static const char message[] = "no CUDA on this machine";']
    for name in sorted(symbols):
        if RETURNS_TEXT.search(name) and not name.endswith("cudaGetLastError"):
            lines.append(f"const char *{name}(void) {{ return message; }}")
        elif name.startswith(("__cudaRegister", "__cudaUnregister")):
            lines.append(f"void *{name}(void) {{ static void *handle[4]; return handle; }}")
        else:
            lines.append(f"int {name}(void) {{ return 100; }}")
    return "\n".join(lines) + "\n"


def version_script(soname: str, symbols: Symbols) -> str:
    nodes = collections.defaultdict(list)
    for name, version in symbols.items():
        nodes[version or soname].append(name)
    return "".join(f"{node} {{ global: {'; '.join(names)}; }};\n" for node, names in nodes.items())


def build(soname: str, symbols: Symbols, lib: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder, "stub.c")
        code.write_text(source(symbols))
        command = ["gcc", "-shared", "-fPIC", "-O1", "-s", "-w", f"-Wl,-soname,{soname}", "-o", str(lib / soname), str(code)]
        if any(symbols.values()):
            script = Path(folder, "stub.map")
            script.write_text(version_script(soname, symbols))
            command.append(f"-Wl,--version-script={script}")
        subprocess.run(command, check=True)


def main(site_packages: str) -> None:
    lib = Path(site_packages, "torch", "lib")
    for soname, symbols in sorted(wanted(lib).items()):
        build(soname, symbols, lib)


if __name__ == "__main__":
    main(sys.argv[1])
