"""The README shows its programs as they are in examples/, and every path that it and docs/ name exists."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
readme = (root / "README.md").read_text()
errors = []
for program in ("examples/rms_norm_backward.c", "examples/aclnn_batch_norm_reduce_backward.cpp"):
    if (root / program).read_text().strip() not in readme:
        errors.append(f"README.md: the program differs from {program}")
for page in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]:
    text = page.read_text()
    paths = re.findall(r"`((?:src|tests|docs|examples|scripts|include|benchmarks|cmake)/[\w./-]*)`", text)
    paths += [p for p in re.findall(r"\]\(([\w./-]+)\)", text)]
    for path in paths:
        if not (root / path).exists() and not (page.parent / path).exists():
            errors.append(f"{page.name}: {path} does not exist")
print("\n".join(errors) or "the README's programs and all paths are right")
sys.exit(1 if errors else 0)
