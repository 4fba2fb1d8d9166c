"""Measures normgrad beside other libraries; ./scripts/bench --peers runs it.

Every contender lives in a process of its own (worker.py), so that no thread pool disturbs another;
the driver (__main__.py) lets them take turns.
"""
