"""No function of a built library has a big stack frame, and none steps over a guard page.

frames_test.py OBJDUMP LIBRARY: names every function that does, with its bytes. It reads the
instructions, so x86-64 only.
"""

import math
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass

MOST_BYTES = 16 * 1024
# With stack-clash protection the stack pointer moves by at most a page, and each page is touched.
# Without it one instruction makes the whole frame.
PAGE = 4096

FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(?:(?:bnd|notrack|repz) )*(\w+) *(.*)$")
NEAR = re.compile(r"(-?0x[0-9a-f]+)?\(%(\w+)(,[^)]*)?\),%(\w+)$")  # -0x5000(%rsp,%rax,8),%r11
BY_NUMBER = re.compile(r"\$(0x[0-9a-f]+),%(\w+)$")  # $0x1000,%rsp
TO_REGISTER = re.compile(r"%(\w+),%(\w+)$")  # %rsp,%rbp


@dataclass
class Frame:
    """How far a function moves the stack pointer: in all, and in one instruction.

    The return address counts, as in g++'s -fstack-usage.
    """

    name: str
    bytes: float = 8
    step: float = 8


def signed(number: str) -> int:
    value = int(number, 16)
    return value - (1 << 64) if value >= 1 << 63 else value


class Walk:
    """Goes through the text of one function and knows the depth of the stack at each instruction.

    Compilers reach an instruction with the same depth on every path. So behind a ret or jmp the
    depth is that of a jump seen before; if there was none, the deepest so far.
    """

    def __init__(self, name: str) -> None:
        self.frame = Frame(name)
        # Where registers point that were computed from the stack pointer. Infinite: with a size
        # that the text does not show, as for alloca or an array of variable length. A register
        # that is used for something else keeps its old entry, which nobody asks for.
        self.depths: dict[str, float] = {"rsp": 8}
        self.pushed: dict[str, float] = {}
        self.at_target: dict[str, float] = {}
        self.falls_through = True

    def set(self, register: str, depth: float) -> None:
        if register == "rsp":
            self.frame.step = max(self.frame.step, depth - self.depths["rsp"])
            self.frame.bytes = max(self.frame.bytes, depth)
        self.depths[register] = depth

    def instruction(self, address: str, name: str, operands: str) -> None:
        if address in self.at_target:
            self.depths["rsp"] = self.at_target[address]
        elif not self.falls_through:
            self.depths["rsp"] = self.frame.bytes
        depth = self.depths["rsp"]
        self.falls_through = name not in ("jmp", "ret", "ud2", "hlt")
        if name[0] == "j":
            self.at_target.setdefault(operands.split(" ")[0], depth)
        elif name == "push":
            self.set("rsp", depth + 8)
            if operands[1:] in self.depths:
                self.pushed.setdefault(operands[1:], self.depths[operands[1:]])
        elif name == "pop":
            self.set("rsp", depth - 8)
            self.restore(operands)
        elif name == "leave":
            self.set("rsp", self.depths.get("rbp", depth) - 8)
        elif name in ("add", "sub", "and"):
            self.add(name, operands)
        elif name in ("lea", "mov", "cmp"):
            self.copy(name, operands)

    def restore(self, operands: str) -> None:
        register = operands.rpartition("%")[2]
        if register in self.pushed:
            self.depths[register] = self.pushed[register]

    def add(self, name: str, operands: str) -> None:
        register = operands.rpartition("%")[2]
        if register not in self.depths or operands.endswith(")"):
            return
        if found := BY_NUMBER.match(operands):
            change = signed(found[1])  # of "and", which aligns: more than it can be
            self.set(register, self.depths[register] + (change if name == "sub" else -change))
        else:
            self.set(register, math.inf)

    def copy(self, name: str, operands: str) -> None:
        near, between = NEAR.match(operands), TO_REGISTER.match(operands)
        if name == "lea" and near and near[2] in self.depths:
            depth = self.depths[near[2]] - int(near[1] or "0", 16)
            self.set(near[4], math.inf if near[3] else depth)
        elif name == "mov" and between and between[1] in self.depths:
            self.set(between[2], self.depths[between[1]])
        elif name == "mov" and near:
            self.restore(operands)
        elif name == "cmp" and between and between[2] == "rsp" and between[1] in self.depths:
            # A loop ends here that went down page by page.
            self.depths["rsp"] = self.depths[between[1]]
            self.frame.bytes = max(self.frame.bytes, self.depths["rsp"])


def read(disassembly: Iterable[str]) -> list[Frame]:
    walks: list[Walk] = []
    for line in disassembly:
        if found := INSTRUCTION.match(line):
            walks[-1].instruction(*found.groups())
        elif found := FUNCTION.match(line):
            walks.append(Walk(found[1]))
    return [walk.frame for walk in walks]


def frames_of(objdump: str, library: str) -> list[Frame]:
    command = [objdump, "-d", "-j", ".text", "--no-show-raw-insn", library]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        frames = read(process.stdout)
    if process.returncode != 0 or not frames:
        sys.exit(f"FAILED {' '.join(command)}")
    return frames


def main(objdump: str, library: str) -> int:
    frames = sorted(frames_of(objdump, library), key=lambda frame: -frame.bytes)
    failures = [
        f"FAILED {frame.bytes} bytes of stack, at most {MOST_BYTES}: {frame.name}"
        for frame in frames
        if frame.bytes > MOST_BYTES
    ]
    failures += [
        f"FAILED {frame.step} bytes at once, no page touched: {frame.name}"
        for frame in frames
        if frame.step > PAGE
    ]
    biggest = f"the biggest frame {frames[0].bytes} bytes: {frames[0].name}"
    report = "\n".join([*failures, f"{len(frames)} functions, {biggest}", ""])
    subprocess.run(["c++filt"], input=report, text=True, check=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
