# One prefix that has the shapes of both API families (INFINI_ROOT and CANN's). Everything in it is relative to itself:
# it may be moved.
include(CMakePackageConfigHelpers)

set(acl_libraries ascendcl nnopbase opapi_nn)
install(TARGETS normgrad infinirt infiniop ${acl_libraries} EXPORT normgrad-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# A link that is made in the build directory and installed from there, so that DESTDIR and CPack work.
function(normgrad_install_link link target destination)
  file(CREATE_LINK ${target} ${PROJECT_BINARY_DIR}/${link} SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/${link} DESTINATION ${destination})
endfunction()

# The further names that build scripts and dlopen use in CANN. One file is loaded once, whatever the name.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
normgrad_install_link(lib/libacl_rt.so libascendcl.so ${CMAKE_INSTALL_LIBDIR})
normgrad_install_link(lib/libacl_op_compiler.so libascendcl.so ${CMAKE_INSTALL_LIBDIR})
normgrad_install_link(lib/libopapi_math.so libopapi_nn.so ${CMAKE_INSTALL_LIBDIR})
normgrad_install_link(lib/libopapi.so libopapi_nn.so ${CMAKE_INSTALL_LIBDIR})

# CMake: find_package(normgrad), targets normgrad::normgrad, normgrad::infinirt, normgrad::infiniop, normgrad::ascendcl,
# normgrad::nnopbase, normgrad::opapi_nn.
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
normgrad_pkg_config(normgrad "Normalization layers and their gradients on CPUs" "")
normgrad_pkg_config(infinirt "The InfiniCore runtime for CPUs" "normgrad")
normgrad_pkg_config(infiniop "InfiniOp's normalization operators on CPUs" "infinirt normgrad")
normgrad_pkg_config(ascendcl "The ACL runtime for CPUs" "normgrad")
normgrad_pkg_config(nnopbase "Tensors and executors of the aclnn operators" "normgrad")
normgrad_pkg_config(opapi_nn "aclnn's normalization operators on CPUs" "nnopbase ascendcl normgrad")

# What people source, and CANN's second name of the library directory.
install(FILES cmake/set_env.sh DESTINATION .)
normgrad_install_link(lib64 ${CMAKE_INSTALL_LIBDIR} .)
