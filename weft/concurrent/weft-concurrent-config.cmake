# find_package(weft-concurrent) gives the target weft::concurrent.
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(Threads)
find_dependency(ZLIB)
include("${CMAKE_CURRENT_LIST_DIR}/weft-concurrent-targets.cmake")
