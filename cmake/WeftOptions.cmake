# What every target of the project is compiled with.
find_program(CCACHE ccache)
if(CCACHE)
  # Without these it would refuse whatever reads precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

add_library(weft_options INTERFACE)
target_include_directories(weft_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(weft_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Werror
  # GCC 12 sees overlapping copies inside std::string where there are none
  # (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # GCC collects its garbage from 128 MiB on, again and again, which takes 5 to 8 %
  # of its time; with a gigabyte it need not.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # AVX2 and FMA: what every x86-64 processor of the last decade has. Vector
  # code is compiled for AVX-512 as well, and chosen when it runs
  # (kernels/simd/targets.h).
  target_compile_options(weft_options INTERFACE -march=x86-64-v3)
endif()
# That level does not promise AES, which Highway else wants beside AVX2.
target_compile_definitions(weft_options INTERFACE HWY_DISABLE_PCLMUL_AES)
# GCC takes what a sanitizer adds for reads of what was never written, and for
# writes past the end of short strings.
if(WEFT_SANITIZE)
  target_compile_options(weft_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-array-bounds
      -Wno-stringop-overflow>)
endif()
foreach(sanitizer IN LISTS WEFT_SANITIZE)
  target_compile_options(weft_options INTERFACE
    -fsanitize=${sanitizer} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(weft_options INTERFACE -fsanitize=${sanitizer})
endforeach()

# Boost.Asio puts fences beside its mutexes. GCC's thread sanitizer knows no fences and
# refuses them, and sees the mutexes.
if("thread" IN_LIST WEFT_SANITIZE)
  target_compile_definitions(weft_options INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()

# What decides, plans, talks and reports, which is most of all sources: what is
# waited for are the kernels that it calls. It compiles in two thirds of the
# time. Sums and copies of arrays in between become vectors all the same.
add_library(weft_cold INTERFACE)
target_compile_options(weft_cold INTERFACE
  $<$<CONFIG:Release>:-O1;-ftree-vectorize>)

# What runs once for a command that a person typed: books, imports, models that
# are put together, reports. It compiles in three quarters of weft_cold's time.
add_library(weft_rare INTERFACE)
target_compile_options(weft_rare INTERFACE $<$<CONFIG:Release>:-Og>)

# GNU's other linker takes half the time, with some sixty programs to be linked.
find_program(GOLD ld.gold)
if(GOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT WEFT_SANITIZE)
  add_link_options(-fuse-ld=gold)
endif()

# OpenMP is used for one thing: its pragma tells the compiler that a loop has no
# order. Its threads are behind base/parallel.h.
target_compile_options(weft_options INTERFACE -fopenmp-simd)
find_package(fmt REQUIRED)
target_link_libraries(weft_options INTERFACE fmt::fmt)

# weft_join(TARGET [BATCH]): its sources are compiled BATCH (80) at a time. Reading headers
# and instantiating templates is most of what a source costs, and is done once
# for all that are joined. So sources of a folder share one set of names, also
# those in namespaces without a name; the compiler says where two meet. With
# WEFT_JOIN=OFF every source is compiled alone, as clang-tidy reads them in
# ./test --all: an #include that is missing shows there. What Highway compiles
# for several instruction sets includes itself, and so must stay alone.
function(weft_join target)
  set(batch 80)
  if(ARGC GREATER 1)
    set(batch ${ARGV1})
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    file(STRINGS ${source} includes_itself REGEX "include <hwy/foreach_target.h>")
    if(includes_itself)
      set_source_files_properties(${source} PROPERTIES
        SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${WEFT_JOIN} UNITY_BUILD_BATCH_SIZE ${batch})
  # GCC takes a source that is included for a header, in which a public type
  # must not hold one that only this file knows.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# weft_hot(SOURCE…): sources of a COLD module with a loop that is waited for.
function(weft_hot)
  set_source_files_properties(${ARGN} PROPERTIES
    COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>
    SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()
