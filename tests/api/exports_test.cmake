# Does a library export the functions that its headers declare, and nothing else?
# cmake -DNM=... -DLIBRARY=... -DPREFIX=infinirt "-DHEADERS=a.h;b.h" -P exports_test.cmake
foreach(header IN LISTS HEADERS)
  file(READ ${header} text)
  string(REGEX MATCHALL "[^A-Za-z_]${PREFIX}[A-Z][A-Za-z0-9]*\\(" found "${text}")
  list(APPEND declared ${found})
endforeach()
string(REGEX REPLACE "[^A-Za-z0-9;]" "" declared "${declared}")
list(REMOVE_DUPLICATES declared)
list(SORT declared)

execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[0-9a-f]+ [A-Za-z] [^\n]+" exported "${symbols}")
list(TRANSFORM exported REPLACE "[0-9a-f]+ [A-Za-z] " "")
list(SORT exported)

list(LENGTH declared count)
if(count EQUAL 0 OR NOT declared STREQUAL exported)
  message(FATAL_ERROR "declared: ${declared}\nexported: ${exported}")
endif()
message("${count} functions: ${exported}")
