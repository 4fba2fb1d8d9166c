"""SyncBatchNorm's backward on many ranks: a model, its check, docs/scaling.md.

benchmarks/sync_scaling --help says how to run it. Printing needs the standard library alone.
"""
