# Highway is headers, which are the same on every processor: its library holds the dispatch, which we have our own of.
# The compiler finds them where Debian keeps headers of all processors.
add_library(hwy::hwy INTERFACE IMPORTED)
