# weft_grpc_service(TARGET FILE.proto): the code that gRPC generates of a service,
# compiled without our warnings.
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
  # Their headers are the system's, and their flags would not go with ours, with
  # which headers are precompiled.
  target_link_libraries(${target} PRIVATE gRPC::grpc++ protobuf::libprotobuf)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
