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
# OpenMP's threads, as all else. Of the reference's LAPACK and BLAS, what is called
# is linked in: 0.3 MB in the place of 37. f64 is multiplied in tiles of our own then.
set(WEFT_LAPACK "openblas" CACHE STRING
  "LAPACK: openblas, or reference, which is small and slow")
find_path(LAPACK_INCLUDE lapack.h REQUIRED)
add_library(weft_lapack INTERFACE)
target_include_directories(weft_lapack SYSTEM INTERFACE ${LAPACK_INCLUDE})
if(WEFT_LAPACK STREQUAL "openblas")
  set(other_lapack reference.cpp)
  set(other_kernels "")
  find_library(OPENBLAS_LIBRARY openblas REQUIRED)
  target_link_libraries(weft_lapack INTERFACE ${OPENBLAS_LIBRARY})
elseif(WEFT_LAPACK STREQUAL "reference")
  set(other_lapack openblas.cpp)
  set(other_kernels openblas_conv.cpp openblas_matmul.cpp)
  # libblas.a elsewhere is whichever BLAS the administrator has chosen.
  set(there PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH REQUIRED)
  find_file(REFERENCE_LAPACK liblapack_pic.a ${there})
  find_file(REFERENCE_BLAS libblas.a PATH_SUFFIXES blas ${there})
  # It calls one function of Fortran's library, which puts two texts together.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libgfortran.a
    OUTPUT_VARIABLE GFORTRAN_LIBRARY OUTPUT_STRIP_TRAILING_WHITESPACE)
  target_link_libraries(weft_lapack INTERFACE
    ${REFERENCE_LAPACK} ${REFERENCE_BLAS} ${GFORTRAN_LIBRARY})
  # Another LAPACK in the same process, as NumPy's, must not meet this one.
  target_link_options(weft_lapack INTERFACE -Wl,--gc-sections
    -Wl,--exclude-libs,liblapack_pic.a:libblas.a:libgfortran.a)
else()
  message(FATAL_ERROR "WEFT_LAPACK: ${WEFT_LAPACK} is neither openblas nor reference")
endif()
add_library(weft_dnnl INTERFACE)
target_include_directories(weft_dnnl SYSTEM INTERFACE ${ONEDNN_INCLUDE})
target_link_libraries(weft_dnnl INTERFACE ${ONEDNN_LIBRARY})

weft_registrations(library_kernels
  PREFIX library_
  REGISTRY KernelRegistry
  HEADER weft/kernels/cpu/libraries.h
  ACCESSOR library_kernel_registry
  FOLDER weft/kernels/libraries
  WITHOUT ${other_kernels})
weft_module(kernels/onednn COLD INTO weft LIBRARIES weft_dnnl)
weft_module(kernels/lapack COLD INTO weft LIBRARIES weft_lapack
  WITHOUT ${other_lapack})
weft_module(kernels/libraries INTO weft LIBRARIES weft_dnnl weft_lapack
  SOURCES ${library_kernels} WITHOUT ${other_kernels})
