# What others can use without the rest of Weft:
#
#   cmake --install build --component concurrent --prefix PLACE
#
# installs the headers of this folder, and a static library of its few sources;
# a project then says
#
#   find_package(weft-concurrent REQUIRED)
#   target_link_libraries(program PRIVATE weft::concurrent)
#
# Simulated machines (coherence/) stay at home: they are for tests of such
# structures, and would bring Boost along.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)

# What these sources use of weft/base, whose objects would bring more along.
set(base_sources error.cpp file.cpp libraries/gzip.cpp option_schema.cpp
  quantity.cpp
  registry.cpp)
set(base_headers error.h huge_pages.h option_schema.h options.h permutation.h
  philox.h registry.h)
list(TRANSFORM base_sources PREPEND ${CMAKE_SOURCE_DIR}/weft/base/)
list(TRANSFORM base_headers PREPEND ${CMAKE_SOURCE_DIR}/weft/base/)

add_library(weft_concurrent_base OBJECT ${base_sources})
target_link_libraries(weft_concurrent_base PRIVATE weft_options)
weft_join(weft_concurrent_base)

add_library(weft_concurrent_package STATIC
  $<TARGET_OBJECTS:weft_concurrent_base>
  $<TARGET_OBJECTS:weft_concurrent>
  $<TARGET_OBJECTS:weft_concurrent_iterative>
  $<TARGET_OBJECTS:weft_concurrent_sgd>
  $<TARGET_OBJECTS:weft_concurrent_counter>
  $<TARGET_OBJECTS:weft_concurrent_conflict>
  $<TARGET_OBJECTS:weft_concurrent_stm>)
add_library(weft::concurrent ALIAS weft_concurrent_package)
set_target_properties(weft_concurrent_package PROPERTIES
  OUTPUT_NAME weft-concurrent EXPORT_NAME concurrent LINKER_LANGUAGE CXX)
target_compile_features(weft_concurrent_package PUBLIC cxx_std_20)
target_include_directories(weft_concurrent_package PUBLIC
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# The sanitizers' runtimes, where the sources are compiled with them.
target_link_options(weft_concurrent_package PUBLIC
  $<BUILD_INTERFACE:$<TARGET_PROPERTY:weft_options,INTERFACE_LINK_OPTIONS>>)
target_link_libraries(weft_concurrent_package
  PUBLIC fmt::fmt Threads::Threads PRIVATE ZLIB::ZLIB)

set(place ${CMAKE_INSTALL_LIBDIR}/cmake/weft-concurrent)
set(version ${CMAKE_CURRENT_BINARY_DIR}/weft-concurrent-config-version.cmake)
write_basic_package_version_file(${version} COMPATIBILITY SameMinorVersion)
install(FILES weft-concurrent-config.cmake ${version}
  DESTINATION ${place} COMPONENT concurrent)
install(TARGETS weft_concurrent_package EXPORT weft-concurrent-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT concurrent)
install(EXPORT weft-concurrent-targets NAMESPACE weft::
  DESTINATION ${place} COMPONENT concurrent)
install(DIRECTORY ./ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/concurrent
  COMPONENT concurrent FILES_MATCHING PATTERN *.h
  PATTERN coherence EXCLUDE)
install(FILES ${base_headers}
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/base COMPONENT concurrent)
