"""frames_test.py sees big frames, with and without stack-clash protection, and unbounded ones.

frames_self_test.py OBJDUMP C-COMPILER
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import frames_test

OBJDUMP, COMPILER = sys.argv[1:3]
SOURCE = """
void use(volatile char* p);
#define FRAME(name, size) int name(int n) { volatile char b[size]; use(b); return b[0]; }
FRAME(of_100_bytes, 100)
FRAME(of_9_kib, 9 * 1024)
FRAME(of_20_kib, 20 * 1024)
FRAME(of_n_bytes, n)
int aligned(int n) { _Alignas(64) volatile char b[20 * 1024]; use(b); return b[n]; }
"""


class Frames(unittest.TestCase):
    def compile(self, protection: str) -> dict[str, frames_test.Frame]:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        directory = pathlib.Path(temporary.name)
        (directory / "frames.c").write_text(SOURCE)
        self.library = str(directory / "frames.so")
        command = [COMPILER, "-O2", "-fPIC", "-shared", protection, "-o", self.library]
        subprocess.run([*command, directory / "frames.c"], check=True)
        return {frame.name: frame for frame in frames_test.frames_of(OBJDUMP, self.library)}

    def expect_bytes(self, frames: dict[str, frames_test.Frame]) -> None:
        sizes = {"of_100_bytes": 100, "of_9_kib": 9216, "of_20_kib": 20480, "aligned": 20480}
        for name, size in sizes.items():
            self.assertGreaterEqual(frames[name].bytes, size)
            self.assertLess(frames[name].bytes, size + 256)
        self.assertEqual(frames["of_n_bytes"].bytes, float("inf"))
        self.assertEqual(frames_test.main(OBJDUMP, self.library), 1)

    def test_protected(self) -> None:
        frames = self.compile("-fstack-clash-protection")
        self.expect_bytes(frames)
        for name in ("of_100_bytes", "of_9_kib", "of_20_kib", "aligned"):
            self.assertLessEqual(frames[name].step, frames_test.PAGE)

    def test_unprotected(self) -> None:
        frames = self.compile("-fno-stack-clash-protection")
        self.expect_bytes(frames)
        for name in ("of_9_kib", "of_20_kib", "aligned"):
            self.assertGreater(frames[name].step, frames_test.PAGE)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
