# SPDX-License-Identifier: Apache-2.0
#
# How every target of the project is built: one place for warnings, sanitizers
# and the shapes a target can have (library, test, proof, benchmark, fuzz target).

add_library(corehold_flags INTERFACE)
target_compile_options(corehold_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Werror)
if(COREHOLD_SANITIZE)
  target_compile_options(corehold_flags INTERFACE
    -fsanitize=${COREHOLD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(corehold_flags INTERFACE -fsanitize=${COREHOLD_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 sees uninitialised variants that are not there once it instruments them.
    target_compile_options(corehold_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

# The presets compile the files of a target as one (CMAKE_UNITY_BUILD): a fifth of the time.
# Files whose helpers have the names of another file's are compiled alone: ALONE names them.
# clang-tidy looks at every file by itself, so that each includes what it uses.
function(corehold_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# corehold_library(NAME SOURCES... ALONE... DEPS...): the library of folder src/NAME.
function(corehold_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ALONE;DEPS" ${ARGN})
  if(ARG_ALONE)
    corehold_alone(${ARG_ALONE})
    list(APPEND ARG_SOURCES ${ARG_ALONE})
  endif()
  if(ARG_SOURCES)
    add_library(corehold_${name} STATIC ${ARG_SOURCES})
    target_include_directories(corehold_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
    target_link_libraries(corehold_${name}
      PUBLIC ${ARG_DEPS} PRIVATE $<BUILD_INTERFACE:corehold_flags>)
  else()
    add_library(corehold_${name} INTERFACE)
    target_include_directories(corehold_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(corehold_${name} INTERFACE ${ARG_DEPS})
  endif()
endfunction()

# corehold_test(NAME SOURCES... ALONE... DEPS... LABELS...): one GoogleTest binary, one ctest
# entry.
function(corehold_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ALONE;DEPS;LABELS" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  if(ARG_ALONE)
    corehold_alone(${ARG_ALONE})
    list(APPEND ARG_SOURCES ${ARG_ALONE})
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} corehold_flags GTest::gtest_main GTest::gmock)
  target_compile_definitions(${name} PRIVATE
    COREHOLD_SOURCE_DIR="${PROJECT_SOURCE_DIR}" COREHOLD_BINARY_DIR="${PROJECT_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
endfunction()

# corehold_proof(NAME SOURCES... OPTIMISED... DEPS... DEFINITIONS...): a test of so many cases
# that it is built with optimised copies of the libraries OPTIMISED, assertions included. It has
# the label proof: a sanitizer adds nothing to what shorter tests of the same code show.
function(corehold_proof name)
  cmake_parse_arguments(ARG "" "" "SOURCES;OPTIMISED;DEPS;DEFINITIONS" ${ARGN})
  if(NOT BUILD_TESTING OR COREHOLD_SANITIZE)
    return()
  endif()
  corehold_test(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS} LABELS proof)
  # g++ 12 sees uninitialised words of sets that are not read, once there are assertions.
  set(options -O2 -Wno-maybe-uninitialized)
  target_compile_options(${name} PRIVATE ${options})
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINITIONS})
  foreach(library ${ARG_OPTIMISED})
    # Linked as objects they take the place of the library's.
    set(copy corehold_optimised_${library})
    if(NOT TARGET ${copy})
      get_target_property(folder corehold_${library} SOURCE_DIR)
      get_target_property(sources corehold_${library} SOURCES)
      get_target_property(links corehold_${library} INTERFACE_LINK_LIBRARIES)
      list(TRANSFORM sources PREPEND ${folder}/)
      add_library(${copy} OBJECT ${sources})
      target_include_directories(${copy} PRIVATE ${PROJECT_SOURCE_DIR}/src)
      target_link_libraries(${copy} PRIVATE ${links} corehold_flags)
      target_compile_options(${copy} PRIVATE ${options})
    endif()
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${copy}>)
  endforeach()
endfunction()

# corehold_bench(NAME [SMOKE REGEX] DEPS...): bench/NAME_bench.cc, one binary per folder. ctest
# runs every benchmark of it once, or those whose name matches REGEX, so that none rots; nothing
# is timed there.
function(corehold_bench name)
  cmake_parse_arguments(ARG "" "SMOKE" "DEPS" ${ARGN})
  if(NOT ARG_SMOKE)
    set(ARG_SMOKE .)
  endif()
  add_executable(${name}_bench ${name}_bench.cc)
  target_link_libraries(${name}_bench
    PRIVATE ${ARG_DEPS} corehold_flags benchmark::benchmark_main benchmark::benchmark)
  if(BUILD_TESTING)
    add_test(NAME ${name}_bench_smoke
      COMMAND ${name}_bench --benchmark_min_time=0.0001 --benchmark_filter=${ARG_SMOKE})
    set_tests_properties(${name}_bench_smoke PROPERTIES LABELS "bench-smoke")
  endif()
endfunction()

# corehold_fuzz(THING DEPS...): fuzz/THING_fuzz.cc with its corpus fuzz/corpus/THING.
# Under the fuzz preset it is a libFuzzer binary; otherwise the corpus is replayed
# once as an ordinary test.
function(corehold_fuzz thing)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  set(name ${thing}_fuzz)
  if(COREHOLD_FUZZ)
    add_executable(${name} ${name}.cc)
    target_link_libraries(${name} PRIVATE ${ARG_DEPS} corehold_flags)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  elseif(BUILD_TESTING)
    add_executable(${name}_replay ${name}.cc replay_main.cc)
    target_link_libraries(${name}_replay PRIVATE ${ARG_DEPS} corehold_flags)
    add_test(NAME ${name}_replay
      COMMAND ${name}_replay ${PROJECT_SOURCE_DIR}/fuzz/corpus/${thing})
    set_tests_properties(${name}_replay PROPERTIES LABELS "fuzz-replay")
  endif()
endfunction()
