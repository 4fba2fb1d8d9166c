"""A built library is hardened as cmake/hardening.cmake asks, and leaves its process as it was.

hardening_test.py READELF LIBRARY: names every claim that does not hold.
"""

import ctypes
import pathlib
import re
import struct
import subprocess
import sys

ENDBR64 = b"\xf3\x0f\x1e\xfa"
# What _FORTIFY_SOURCE replaces whether or not the size of the buffer is known. Not snprintf: g++ takes the check out again
# where it sees that a "%s" fits.
UNCHECKED = re.compile(r"v?(f|s|d|as)?printf|vsnprintf|realpath")
# Which of ours build texts in buffers of the stack, so that both checks must have left a call.
PRINTS = {"libnormgrad.so", "libascendcl.so", "libnnopbase.so", "libopapi_nn.so"}


class Library:
    def __init__(self, readelf: str, path: str) -> None:
        self.path = pathlib.Path(path)
        self.bytes = self.path.read_bytes()

        def ask(option: str) -> str:
            command = [readelf, "-W", option, path]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout

        self.machine = re.search(r"Machine:\s+(.+)", ask("-h")).group(1)
        self.segments = ask("-l")
        self.dynamic = ask("-d")
        self.notes = ask("-n")
        # value, type, section, name; "UND" is the section of an import.
        row = r"^\s*\d+: ([0-9a-f]+)\s+\S+ (\S+)\s+\S+\s+\S+\s+(\S+) ([^\s@]+)"
        rows = re.findall(row, ask("--dyn-syms"), re.MULTILINE)
        self.imports = {name for _, _, section, name in rows if section == "UND"}
        self.exports = [r for r in rows if r[2] not in ("UND", "ABS")]
        self.symbols = {r[3] for r in re.findall(row, ask("-s"), re.MULTILINE)}

    def code_at(self, address: int, count: int) -> bytes:
        for line in re.findall(r"^\s*LOAD\s+(.+)$", self.segments, re.MULTILINE):
            offset, start, _, size = (int(field, 16) for field in line.split()[:4])
            if start <= address < start + size:
                return self.bytes[offset + address - start :][:count]
        return b""

    def flags(self, segment: str) -> str:
        """Its rights as readelf prints them: R, W, E."""
        line = re.search(rf"^\s*{segment}\s+(?:0x\S+\s+){{5}}([RWE ]+?)\s+0x", self.segments, re.MULTILINE)
        return line.group(1) if line else "absent"


def linked_safely(library: Library) -> dict[str, bool]:
    dynamic = library.dynamic
    writable_code = re.search(r"^\s*LOAD.*\bRWE\b", library.segments, re.MULTILINE)
    return {
        "relocations are read-only": library.flags("GNU_RELRO").strip() == "R",
        "and done before the first call": bool(re.search(r"\(FLAGS_1\).*\bNOW\b", dynamic)),
        "no code on the stack": library.flags("GNU_STACK").strip() == "RW",
        "no memory that is written and run": not writable_code,
        "no relocation in code": "TEXTREL" not in dynamic,
        "run path is $ORIGIN": re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic) == ["$ORIGIN"],
        "SONAME is its name": re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) == [library.path.name],
        "exports functions alone": bool(library.exports)
        and all(kind == "FUNC" for _, kind, _, _ in library.exports),
    }


def compiled_safely(library: Library) -> dict[str, bool]:
    unchecked = sorted(name for name in library.imports if UNCHECKED.fullmatch(name))
    checks = {
        f"prints with checks, not with {unchecked}": not unchecked,
        "reads the environment by secure_getenv alone": not library.imports & {"getenv", "environ", "__environ"},
    }
    if library.path.name == "libnormgrad.so":
        checks["imports secure_getenv"] = "secure_getenv" in library.imports
    if library.path.name in PRINTS:
        checks["imports __stack_chk_fail"] = "__stack_chk_fail" in library.imports
        checks["imports a checked print"] = any(re.fullmatch(r"__v?snprintf_chk", i) for i in library.imports)
    if "X86-64" in library.machine:
        properties = re.search(r"x86 feature: (.+)", library.notes)
        checks["shadow stack note"] = bool(properties) and "SHSTK" in properties.group(1)
        checks["functions begin with endbr64"] = all(
            library.code_at(int(value, 16), 4) == ENDBR64 for value, _, _, _ in library.exports
        )
    return checks


def bits(number: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def loaded_safely(library: Library) -> dict[str, bool]:
    """Code that was linked with -ffast-math flushes subnormals from the moment it is loaded."""
    smallest = float(sys.float_info.min)
    before = bits(smallest / 2)
    ctypes.CDLL(str(library.path))
    return {
        "symbols are there to look at": len(library.symbols) > len(library.exports),
        "no start-up object of fast-math": "set_fast_math" not in library.symbols,
        "subnormals live after loading": bits(smallest / 2) == before != 0,
    }


def main() -> int:
    library = Library(*sys.argv[1:3])
    checks = linked_safely(library) | compiled_safely(library) | loaded_safely(library)
    for claim, holds in checks.items():
        print("ok    " if holds else "FAILED", claim)
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
