#include "seed_declarations.c"  // NOLINT: the same text in the other language
