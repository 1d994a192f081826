# Writes FILE, which adds a test for each suite of PROGRAM that FILTER lets
# through (weft_suites). Run by `cmake -P`.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests "--gtest_filter=${FILTER}"
  OUTPUT_VARIABLE listed RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} does not list its tests: ${result}")
endif()
# Suites begin a line, and tests of theirs follow behind two spaces.
string(REGEX MATCHALL "(^|\n)[^ \n]+\\." suites "${listed}")
set(text "")
foreach(suite IN LISTS suites)
  string(STRIP "${suite}" suite)
  string(REGEX REPLACE "\\.$" "" suite "${suite}")
  string(APPEND text
    "add_test([=[${PREFIX}${suite}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*]=])\n"
    "set_tests_properties([=[${PREFIX}${suite}]=] PROPERTIES")
  foreach(property IN LISTS PROPERTIES)
    string(APPEND text " [=[${property}]=]")
  endforeach()
  string(APPEND text ")\n")
endforeach()
file(WRITE ${FILE} "${text}")
