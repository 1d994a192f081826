# weft_suites(TARGET [FILTER filter] [PREFIX text] [PROPERTIES name value…]): one
# CTest test for each suite of a program of GoogleTest, called as the suite.
# gtest_discover_tests() makes one of each test: four thousand processes, which
# load libraries for longer than most of them test.
#
# The program itself says, once it is linked, which suites it has.
function(weft_suites target)
  cmake_parse_arguments(SUITES "" "FILTER;PREFIX" "PROPERTIES" ${ARGN})
  string(MAKE_C_IDENTIFIER "${target}_${SUITES_PREFIX}_${SUITES_FILTER}" stem)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${stem}.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${file}
    COMMAND ${CMAKE_COMMAND} -D "PROGRAM=$<TARGET_FILE:${target}>"
      -D "FILTER=${SUITES_FILTER}" -D "PREFIX=${SUITES_PREFIX}"
      -D "PROPERTIES=${SUITES_PROPERTIES}" -D "FILE=${file}"
      -P ${CMAKE_SOURCE_DIR}/cmake/list_suites.cmake
    VERBATIM)
  # CTest reads it when tests run; until a program is built, it has none.
  set(reader ${CMAKE_CURRENT_BINARY_DIR}/${stem}_if_built.cmake)
  file(CONFIGURE OUTPUT ${reader} @ONLY CONTENT [[
if(EXISTS "@file@")
  include("@file@")
else()
  add_test(@target@_NOT_BUILT @target@_NOT_BUILT)
endif()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${reader})
endfunction()
