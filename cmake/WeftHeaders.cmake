# What is precompiled.

# Headers of others that most sources read, to be precompiled. Each source
# includes what it needs all the same: clang-tidy's build in ./test --all
# precompiles nothing.
set(WEFT_COMMON_HEADERS <algorithm> <array> <atomic> <cmath> <filesystem>
  <functional> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string>
  <unordered_map> <variant> <vector> <fmt/core.h>)
# What Highway's headers read once, not per target; the rest reads differently
# for each.
set(WEFT_VECTOR_HEADERS <hwy/base.h>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND WEFT_VECTOR_HEADERS <immintrin.h>)
endif()

# weft_module_headers(TARGET [LIBRARIES lib…] [HEADERS header…]): precompiled
# headers that modules reuse, more than the common ones.
function(weft_module_headers target)
  cmake_parse_arguments(MODULE "" "" "LIBRARIES;HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp CONTENT "")
  add_library(${target} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp)
  target_link_libraries(${target} PRIVATE weft_options ${MODULE_LIBRARIES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  target_precompile_headers(${target} PRIVATE ${WEFT_COMMON_HEADERS}
    ${MODULE_HEADERS})
endfunction()

weft_module_headers(weft_cold_headers LIBRARIES weft_cold
  HEADERS <weft/graph/builder.h> <weft/graph/registry.h> <weft/graph/variable.h>)
weft_module_headers(weft_hot_headers HEADERS ${WEFT_VECTOR_HEADERS}
  <weft/base/parallel.h> <weft/graph/kernel.h>)
