"""Lines and branches of src/ that a build with NORMGRAD_COVERAGE has reached, from gcov's JSON, beside the bars.

usage: coverage.py BUILD-DIRECTORY

A kernel's text becomes many functions: a line, and a branch of it, is reached if one of them reaches it. Functions in
which a line has different numbers of branches (if constexpr) count each on their own. Of a lambda in a template g++ 12
does not say where it ends, and gcov lists what all its copies have on a line under no function's name: all conditions
there count as one decision, which goes both ways if they together do. Branches that only an exception takes are no
decisions and do not count. Exit code 1: a bar is missed.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# name, files, least % of lines, least % of branches
BARS = [
    ("src", r"src/", 95, 90),
    ("argument checks", r"src/(api/|ops/plan|ops/[^/]*/(?!cpu)[^/]*[.]cc)", 100, 0),
]


def gcov(build):
    """Yields (file, line) of gcov's JSON, for every function that was compiled."""
    data = sorted(str(path.resolve()) for path in build.rglob("*.gcda"))
    for at in range(0, len(data), 8):
        command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", *data[at : at + 8]]
        out = subprocess.run(command, cwd=build, check=True, capture_output=True, text=True).stdout
        for document in out.splitlines():
            report = json.loads(document)
            for file in report["files"]:
                path = pathlib.Path(report["current_working_directory"], file["file"]).resolve()
                if path.is_relative_to(ROOT / "src"):
                    for line in file["lines"]:
                        yield str(path.relative_to(ROOT)), line


def decisions(branches):
    """Which branches are taken, without calls: of a call, gcov lists the way on and then that of an exception."""
    taken = []
    for branch in branches:
        if not branch["throw"]:
            taken.append(branch["count"] > 0)
        elif taken:
            taken.pop()
    return taken


class File:
    """What is reached of a file. Lines without a word on them hold nothing that anybody wrote: destructors, unwinding."""

    def __init__(self, path):
        self.text = (ROOT / path).read_text().splitlines()
        self.lines = collections.Counter()
        self.branches = {}  # (line, how many there are) -> whether each is taken

    def add(self, line):
        number, taken = line["line_number"], decisions(line["branches"])
        if not re.search(r"\w", self.text[number - 1]):
            return
        if "function_name" not in line and len(taken) > 2:  # two for each condition of each copy
            taken = [any(taken[0::2]), any(taken[1::2])]
        self.lines[number] += line["count"]
        before = self.branches.get((number, len(taken)), taken)
        self.branches[number, len(taken)] = [a or b for a, b in zip(before, taken)]

    def missing_lines(self):
        return sorted(n for n, count in self.lines.items() if count == 0)

    def missing_branches(self):
        return sorted({n for (n, _), taken in self.branches.items() if not all(taken)})


def ranges(numbers):
    """[1, 2, 3, 7] -> "1-3 7"."""
    spans = []
    for n in numbers:
        if spans and spans[-1][1] == n - 1:
            spans[-1][1] = n
        else:
            spans.append([n, n])
    return " ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in spans)


def percent(reached, total):
    return 100 * reached / total if total else 0


def main():
    files = {}
    for path, line in gcov(pathlib.Path(sys.argv[1])):
        if path not in files:
            files[path] = File(path)
        files[path].add(line)
    for path, file in sorted(files.items()):
        for what, numbers in (("lines", file.missing_lines()), ("branches", file.missing_branches())):
            if numbers:
                print(f"{path}: {what} not reached: {ranges(numbers)}")
    missed = 0
    for name, pattern, least_lines, least_branches in BARS:
        chosen = [file for path, file in files.items() if re.match(pattern, path)]
        lines = [count > 0 for file in chosen for count in file.lines.values()]
        branches = [b for file in chosen for taken in file.branches.values() for b in taken]
        for what, reached, least in (("lines", lines, least_lines), ("branches", branches, least_branches)):
            value = percent(sum(reached), len(reached))
            missed += value < least
            print(f"{name}: {value:.1f} % of {len(reached)} {what}" + (f" (at least {least})" if least else ""))
    sys.exit(1 if missed or not files else 0)


if __name__ == "__main__":
    main()
