"""Pictures and tables from the JSON of ./scripts/bench, with the standard library alone.

benchmarks/plot is the command.
"""
