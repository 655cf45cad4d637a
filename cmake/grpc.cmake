# SPDX-License-Identifier: Apache-2.0
#
# gRPC without TLS, linked statically: the shared libraries, over forty of them, cost every
# process of this program 5 MB of memory and 10 ms at its start, also the monitors of
# containers; statically it is 2 MB, shared between them, and 1 ms.

# corehold_grpc: what code that includes <grpcpp/...> links with.
add_library(corehold_grpc INTERFACE)
set(archives)
foreach(name grpc++_unsecure grpc_unsecure gpr upb address_sorting cares re2 protobuf)
  find_library(GRPC_${name}_ARCHIVE lib${name}.a REQUIRED)
  mark_as_advanced(GRPC_${name}_ARCHIVE)
  list(APPEND archives ${GRPC_${name}_ARCHIVE})
endforeach()
# Abseil is in many parts that need each other; those that nobody needs are not linked.
get_filename_component(directory ${GRPC_gpr_ARCHIVE} DIRECTORY)
file(GLOB abseil ${directory}/libabsl_*.a)
find_package(ZLIB REQUIRED)
target_link_libraries(corehold_grpc INTERFACE
  -Wl,--start-group ${archives} ${abseil} -Wl,--end-group
  ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

# corehold_proto(NAME FILE): a static library corehold_NAME_proto of the messages and services
# in FILE.proto; include <FILE.grpc.pb.h>. Generated code is not ours: no warnings, no
# sanitizers, hardly optimised.
function(corehold_proto name file)
  get_filename_component(stem ${file} NAME_WE)
  get_filename_component(folder ${file} DIRECTORY)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(generated ${out}/${stem}.pb.cc ${out}/${stem}.pb.h
    ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
    COMMAND ${PROTOC} --proto_path=${folder} --cpp_out=${out} --grpc_out=${out}
      --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ${file}
    DEPENDS ${file}
    VERBATIM)
  # What clang-tidy needs of a build.
  add_custom_target(corehold_${name}_generated DEPENDS ${generated})
  if(NOT TARGET generated)
    add_custom_target(generated)
  endif()
  add_dependencies(generated corehold_${name}_generated)
  add_library(corehold_${name}_proto STATIC ${generated})
  set_target_properties(corehold_${name}_proto PROPERTIES
    UNITY_BUILD OFF INTERPROCEDURAL_OPTIMIZATION OFF CXX_CLANG_TIDY "")
  target_compile_options(corehold_${name}_proto PRIVATE -w -O1 -g0)
  target_include_directories(corehold_${name}_proto SYSTEM PUBLIC ${out})
  target_link_libraries(corehold_${name}_proto PUBLIC corehold_grpc)
endfunction()
