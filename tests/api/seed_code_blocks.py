"""Compiles the C code blocks of the original InfiniOp interface documents against our headers, as C99 and C++17.

usage: seed_code_blocks.py <documents' directory> <include directory> <C compiler> <C++ compiler>
Exits with 77 (skipped) if the documents are not there, which is so in every clone but the authors'.
"""
import pathlib
import re
import subprocess
import sys

SKIPPED = 77


def code_blocks(document):
    return re.findall(r"^```c\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def compiles(command, include_directory, text):
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", include_directory, "-"]
    result = subprocess.run(command + flags, input=text, text=True, capture_output=True, check=False)
    if result.returncode != 0:
        print(text, result.stderr, sep="\n")
    return result.returncode == 0


def main(documents, include_directory, c_compiler, cxx_compiler):
    documents = pathlib.Path(documents)
    if not documents.is_dir():
        print(f"skipped: the original documents are not in {documents}; seed_declarations.c holds our transcription")
        return SKIPPED
    failures = ran = 0
    for document in sorted(documents.glob("*.txt")):
        blocks = [block for block in code_blocks(document) if "infiniop" in block]
        text = "#include <infiniop.h>\n" + "\n".join(blocks)
        if not blocks:
            continue
        for command in ([c_compiler, "-std=c99", "-xc"], [cxx_compiler, "-std=c++17", "-xc++"]):
            passed = compiles(command, include_directory, text)
            print(f"{document.name}: {len(blocks)} code blocks as {command[1][5:]}: {'ok' if passed else 'FAILED'}")
            failures += not passed
            ran += 1
    print(f"{ran} compilations, {failures} failed")
    return 1 if failures or not ran else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
