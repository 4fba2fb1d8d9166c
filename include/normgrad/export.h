/* Marks what leaves libnormgrad.so; everything else in it is hidden. */
#ifndef NORMGRAD_EXPORT_H
#define NORMGRAD_EXPORT_H

#if defined(__GNUC__)
#define NORMGRAD_API __attribute__((visibility("default")))
#else
#define NORMGRAD_API
#endif

#endif
