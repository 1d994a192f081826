# What speaks gRPC: weft_grpc, and the code that gRPC generates of a service.
if(NOT WEFT_SERVE OR WEFT_CORE_ONLY)
  return()
endif()

find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(OpenSSL 3 REQUIRED)
add_library(weft_grpc INTERFACE)
# As shared libraries they have much that nothing here calls. A wheel, which
# carries them, has them linked in.
set(WEFT_GRPC "shared" CACHE STRING "gRPC and Protobuf: shared, or static")
if(WEFT_GRPC STREQUAL "shared")
  target_link_libraries(weft_grpc INTERFACE gRPC::grpc++ protobuf::libprotobuf
    OpenSSL::SSL)
elseif(WEFT_GRPC STREQUAL "static")
  # Packages' targets are of shared libraries; pkg-config knows of which archives
  # they are.
  find_program(PKG_CONFIG pkg-config REQUIRED)
  execute_process(
    COMMAND ${PKG_CONFIG} --static --libs-only-l grpc++ protobuf openssl
    OUTPUT_VARIABLE names OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(names)
  list(TRANSFORM names REPLACE "^-l" "")
  list(REMOVE_DUPLICATES names)
  set(archives "")
  foreach(name IN LISTS names)
    # The system's own stay as they are.
    if(name MATCHES "^(atomic|dl|m|pthread|rt|z)$")
      target_link_libraries(weft_grpc INTERFACE ${name})
      continue()
    endif()
    # libweft, which goes along, has libcrypto as a shared library, and libssl's
    # archive fits to libcrypto's alone.
    if(name MATCHES "^(crypto|ssl)$")
      continue()
    endif()
    find_library(archive lib${name}.a NO_CACHE REQUIRED)
    list(APPEND archives ${archive})
    unset(archive)
  endforeach()
  list(JOIN archives "," archives)
  target_link_libraries(weft_grpc INTERFACE "$<LINK_GROUP:RESCAN,${archives}>"
    OpenSSL::SSL)
else()
  message(FATAL_ERROR "WEFT_GRPC: ${WEFT_GRPC} is neither shared nor static")
endif()

# weft_grpc_service(TARGET FILE.proto): that code, compiled without our warnings.
function(weft_grpc_service target proto)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${proto})
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(name ${source} NAME_WE)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${generated})
  add_custom_command(
    OUTPUT ${generated}/${name}.pb.h ${generated}/${name}.pb.cc
      ${generated}/${name}.grpc.pb.h ${generated}/${name}.grpc.pb.cc
    COMMAND protobuf::protoc --proto_path=${folder}
      --cpp_out=${generated} --grpc_out=${generated}
      --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> ${source}
    DEPENDS ${source})
  add_library(${target} STATIC ${generated}/${name}.pb.cc
    ${generated}/${name}.grpc.pb.cc ${generated}/${name}.pb.h
    ${generated}/${name}.grpc.pb.h)
  target_include_directories(${target} SYSTEM PUBLIC ${generated})
  if("thread" IN_LIST WEFT_SANITIZE)
    target_include_directories(${target} SYSTEM BEFORE PUBLIC
      ${CMAKE_SOURCE_DIR}/cmake/thread_sanitizer)
  endif()
  # Their headers are the system's, and their flags would not go with ours, with
  # which headers are precompiled.
  target_link_libraries(${target} PRIVATE weft_grpc)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
