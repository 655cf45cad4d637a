# SPDX-License-Identifier: Apache-2.0
#
# Declared features as a library of their own, for other CMake projects: find_package(corehold)
# and corehold::features. Not part of the program's package:
#
#   cmake --install build/release --component library --prefix DIR
include(CMakePackageConfigHelpers)

set(library_config ${PROJECT_BINARY_DIR}/corehold-config.cmake)
set(library_cmake lib/cmake/corehold)
foreach(folder base pod features)
  set_target_properties(corehold_${folder} PROPERTIES EXPORT_NAME ${folder})
  target_compile_features(corehold_${folder} PUBLIC cxx_std_20)
  target_include_directories(corehold_${folder} INTERFACE $<INSTALL_INTERFACE:include/corehold>)
  install(TARGETS corehold_${folder} EXPORT corehold
    ARCHIVE DESTINATION lib COMPONENT library EXCLUDE_FROM_ALL)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${folder} DESTINATION include/corehold
    COMPONENT library EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN "*.h" PATTERN "testing.h" EXCLUDE)
endforeach()
install(EXPORT corehold NAMESPACE corehold:: FILE corehold-targets.cmake
  DESTINATION ${library_cmake} COMPONENT library EXCLUDE_FROM_ALL)

file(WRITE ${library_config}.in [=[
@PACKAGE_INIT@
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(Boost 1.81 COMPONENTS json)
find_dependency(yaml-cpp)
include(${CMAKE_CURRENT_LIST_DIR}/corehold-targets.cmake)
]=])
configure_package_config_file(${library_config}.in ${library_config}
  INSTALL_DESTINATION ${library_cmake})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/corehold-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${library_config} ${PROJECT_BINARY_DIR}/corehold-config-version.cmake
  DESTINATION ${library_cmake} COMPONENT library EXCLUDE_FROM_ALL)
