"""Part of a test's name tells its environment: every test with that part has those variables.

usage: environments_test.py CTEST BUILD-DIRECTORY
"""

import json
import subprocess
import sys

TOLD_BY = {
    ".small_cache.": "NORMGRAD_TEST_CACHE_BYTES=4096",
    ".inline.": "NORMGRAD_STREAMS=inline",
    ".async.": "NORMGRAD_STREAMS=async",
    ".deferred.": "NORMGRAD_STREAMS=deferred",
    ".910b.": "NORMGRAD_SOC=Ascend910B",
    ".two_devices.": "NORMGRAD_DEVICES=2",
}


def main():
    ctest, build = sys.argv[1:]
    command = [ctest, "--test-dir", build, "--show-only=json-v1"]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    checked, wrong = dict.fromkeys(TOLD_BY, 0), []
    for test in json.loads(listing)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        for part, variable in TOLD_BY.items():
            if part not in test["name"]:
                continue
            checked[part] += 1
            if variable not in properties.get("ENVIRONMENT", []):
                wrong.append(f"{test['name']} is without {variable}")
    print(*wrong, checked, sep="\n")
    # A preset may build some of the tests alone, but never none that have an environment.
    sys.exit(1 if wrong or not any(checked.values()) else 0)


if __name__ == "__main__":
    main()
