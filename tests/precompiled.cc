// Nothing: what it is compiled with, the other tests use again.
