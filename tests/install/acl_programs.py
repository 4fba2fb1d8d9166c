"""Builds aclnn programs against the installed, moved prefix in the ways that CANN's users know, runs them, and checks
what they print.

usage: acl_programs.py <step> <prefix> <work directory> <project source> <C++ compiler> <cmake>
  command_line   our examples, each with the documented g++ line after set_env.sh
  cmake          the documents' programs in our words and the two-device one, with the documented CMake text
  other_names    one program with -lopapi, and with -lacl_rt
  originals      the documents' programs unmodified, both ways; exits with 77 (skipped) if the documents are not there,
                 which is so in every clone but the authors'
"""
import os
import pathlib
import re
import subprocess
import sys

SKIPPED = 77
NEW_NAMES = "-lopapi_nn -lopapi_math -lascendcl -lnnopbase"
# The documents' programs: our transcription, the header that they include, the numbers that they print.
DOCUMENTED = [
    ("aclnn_batch_norm_reduce_backward.cpp", "aclnn_batch_norm_backward_reduce.h", [7, 8, 21, 30, 21, 30, 7, 8]),
    ("aclnn_batch_norm_backward.cpp", "aclnn_batch_norm_backward.h",
     [-1.5, -4, -6.5, -9, -127.5, -158, -188.5, -219]),
]
ANSWERS = {name: answers for name, _, answers in DOCUMENTED}


class Builder:
    def __init__(self, prefix, work, project, compiler, cmake):
        self.prefix, self.work, self.project = pathlib.Path(prefix), pathlib.Path(work), pathlib.Path(project)
        self.compiler, self.cmake = compiler, cmake
        self.work.mkdir(parents=True, exist_ok=True)

    def shell(self, command):
        """Runs it as a user would, after set_env.sh."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("NORMGRAD_", "ASCEND_", "LD_"))}
        command = f". {self.prefix}/set_env.sh && ROOT=$ASCEND_HOME_PATH && {command}"
        result = subprocess.run(["sh", "-c", command], cwd=self.work, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if result.returncode != 0:
            sys.exit(f"FAILED with {result.returncode}: {command}\n{result.stdout}")
        return result.stdout

    def by_command_line(self, source, libraries=NEW_NAMES):
        program = self.work / source.stem
        self.shell(f"{self.compiler} {source} -I $ROOT/include -I $ROOT/include/aclnnop -L $ROOT/lib64 "
                   f"{libraries} -o {program}")
        return program

    def by_cmake(self, sources):
        build = self.work / "cmake"
        self.shell(f"{self.cmake} -S {self.project}/tests/install/acl_client -B {build} -DCMAKE_SKIP_RPATH=TRUE "
                   f"-DCMAKE_CXX_COMPILER={self.compiler} '-DPROGRAMS={';'.join(map(str, sources))}' && "
                   f"{self.cmake} --build {build}")
        return [build / source.stem for source in sources]

    def run(self, program, name, how, answers=None):
        """The program judges itself by its exit code; the first numbers that it prints are to be the answers."""
        printed = self.shell(str(program))
        numbers = [float(number) for number in re.findall(r"^result\[\d+\] is: (\S+)$", printed, re.MULTILINE)]
        if answers and numbers[:len(answers)] != answers:
            sys.exit(f"FAILED: {name}, {how}, prints other numbers than {answers}:\n{printed}")
        print(f"{name}, {how}: ok" + (f": {numbers}" if answers else ""))


def command_line(builder):
    for source in sorted((builder.project / "examples").glob("aclnn_*.cpp")):
        builder.run(builder.by_command_line(source), source.name, "by command line", ANSWERS.get(source.name))


def cmake(builder):
    sources = [builder.project / "examples" / name for name in [*ANSWERS, "aclnn_sync_batch_norm.cpp"]]
    for source, program in zip(sources, builder.by_cmake(sources), strict=True):
        builder.run(program, source.name, "by CMake", ANSWERS.get(source.name))


def other_names(builder):
    name = DOCUMENTED[0][0]
    source = builder.project / "examples" / name
    for libraries in ("-lopapi -lascendcl -lnnopbase", "-lopapi_nn -lopapi_math -lacl_rt -lnnopbase"):
        builder.run(builder.by_command_line(source, libraries), name, libraries, ANSWERS[name])


def extract(documents, work):
    """The program of each document, as it stands there, in a file of its own; keyed by the header it includes."""
    sources = {}
    for document in sorted(documents.glob("*.txt")):
        for block in re.findall(rb"^```Cpp\n(.*?)^```", document.read_bytes(), re.MULTILINE | re.DOTALL):
            header = re.search(rb'"aclnnop/(\w+\.h)"', block)
            if header and b"int main" in block:
                source = work / f"original_{document.stem}.cpp"
                source.write_bytes(block)
                sources[header.group(1).decode()] = source
    return sources


def originals(builder):
    documents = builder.project.parent / "shared" / "seeds"
    sources = extract(documents, builder.work)
    if not sources:
        print(f"skipped: the original documents are not in {documents}; examples/ holds our transcription")
        sys.exit(SKIPPED)
    wanted = [sources[header] for _, header, _ in DOCUMENTED]
    for source, program, (_, header, answers) in zip(wanted, builder.by_cmake(wanted), DOCUMENTED, strict=True):
        name = f"the document's own program {source.name} ({header})"
        builder.run(builder.by_command_line(source), name, "by command line", answers)
        builder.run(program, name, "by CMake", answers)


if __name__ == "__main__":
    step, prefix, work, *rest = sys.argv[1:]
    {f.__name__: f for f in (command_line, cmake, other_names, originals)}[step](
        Builder(prefix, os.path.join(work, "acl_" + step), *rest))
