# The libraries of products, convolutions and factors, and the kernels of them.
# oneDNN: Debian's, or the one in the folder that tools/onednn.sh has filled.
set(WEFT_ONEDNN "system" CACHE STRING
  "oneDNN: system, or a folder with include/ and lib/ (tools/onednn.sh)")
if(WEFT_ONEDNN STREQUAL "system")
  set(only_there "")
else()
  get_filename_component(only_there "${WEFT_ONEDNN}" ABSOLUTE
    BASE_DIR ${CMAKE_SOURCE_DIR})
  set(only_there PATHS "${only_there}" NO_DEFAULT_PATH)
endif()
# Not find_package(dnnl): the configuration that Debian ships asks for the
# development files of OpenCL, which nothing here uses. The cache would hold on
# to what another value of the option has found.
find_path(ONEDNN_INCLUDE oneapi/dnnl/dnnl.h ${only_there}
  PATH_SUFFIXES include NO_CACHE REQUIRED)
find_library(ONEDNN_LIBRARY dnnl ${only_there} PATH_SUFFIXES lib NO_CACHE REQUIRED)
# OpenBLAS has LAPACK in it, whose header comes with LAPACKE; it computes on
# OpenMP's threads, as all else.
find_path(LAPACK_INCLUDE lapack.h REQUIRED)
find_library(OPENBLAS_LIBRARY openblas REQUIRED)
add_library(weft_lapack INTERFACE)
target_include_directories(weft_lapack SYSTEM INTERFACE ${LAPACK_INCLUDE})
target_link_libraries(weft_lapack INTERFACE ${OPENBLAS_LIBRARY})
add_library(weft_dnnl INTERFACE)
target_include_directories(weft_dnnl SYSTEM INTERFACE ${ONEDNN_INCLUDE})
target_link_libraries(weft_dnnl INTERFACE ${ONEDNN_LIBRARY})

weft_registrations(library_kernels
  PREFIX library_
  REGISTRY KernelRegistry
  HEADER weft/kernels/cpu/libraries.h
  ACCESSOR library_kernel_registry
  FOLDER weft/kernels/libraries)
weft_module(kernels/onednn COLD INTO weft LIBRARIES weft_dnnl)
weft_module(kernels/libraries INTO weft LIBRARIES weft_dnnl weft_lapack
  SOURCES ${library_kernels})
