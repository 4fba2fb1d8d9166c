# One prefix that has the shapes of both API families (INFINI_ROOT, and later CANN's). Everything in it is relative to
# itself: it may be moved.
include(CMakePackageConfigHelpers)

install(TARGETS normgrad infinirt infiniop EXPORT normgrad-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# CMake: find_package(normgrad), targets normgrad::normgrad, normgrad::infinirt, normgrad::infiniop.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/normgrad)
install(EXPORT normgrad-targets NAMESPACE normgrad:: DESTINATION ${package_dir})
configure_package_config_file(cmake/normgrad-config.cmake.in ${PROJECT_BINARY_DIR}/normgrad-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/normgrad-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/normgrad-config.cmake ${PROJECT_BINARY_DIR}/normgrad-config-version.cmake
  DESTINATION ${package_dir})

# pkg-config: one file per library, from one template.
function(normgrad_pkg_config library description requires)
  set(PC_NAME ${library})
  set(PC_DESCRIPTION ${description})
  set(PC_REQUIRES ${requires})
  configure_file(cmake/library.pc.in ${PROJECT_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
normgrad_pkg_config(normgrad "Gradients of normalization layers on CPUs" "")
normgrad_pkg_config(infinirt "The InfiniCore runtime for CPUs" "normgrad")
normgrad_pkg_config(infiniop "InfiniOp's normalization gradients on CPUs" "infinirt normgrad")

# What people source, and CANN's second name of the library directory. The link is made in the build directory and
# installed from there, so that DESTDIR and CPack work.
install(FILES cmake/set_env.sh DESTINATION .)
file(CREATE_LINK ${CMAKE_INSTALL_LIBDIR} ${PROJECT_BINARY_DIR}/lib64 SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/lib64 DESTINATION .)
