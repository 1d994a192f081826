# weft_module(NAME [LIBRARIES lib…] [OPTIONS option…] [SOURCES source…]
#   [WITHOUT source…] [INTO target…] [COLD|RARE]): the sources of weft/NAME, as
# objects of the libraries that its module is in (weft/CMakeLists.txt), or of INTO.
# Modules order themselves by weft/floors.txt, which a test enforces; here they only
# say what they need from outside. In COLD ones nobody waits for a loop (see
# weft_cold), RARE ones run once for a command (see weft_rare); OPTIONS are the
# compiler's.
function(weft_module name)
  cmake_parse_arguments(MODULE "COLD;RARE" ""
    "INTO;LIBRARIES;OPTIONS;SOURCES;WITHOUT" ${ARGN})
  if(NOT MODULE_INTO)
    set(MODULE_INTO ${WEFT_LIBRARIES})
  endif()
  string(REPLACE "/" "_" target weft_${name})
  file(GLOB sources CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/weft/${name}/*.cpp)
  list(APPEND sources ${MODULE_SOURCES})
  list(TRANSFORM MODULE_WITHOUT PREPEND ${CMAKE_SOURCE_DIR}/weft/${name}/)
  list(REMOVE_ITEM sources ${MODULE_WITHOUT})
  list(REMOVE_DUPLICATES sources)
  if(NOT sources)
    return()  # headers only
  endif()
  add_library(${target} OBJECT ${sources})
  target_link_libraries(${target} PUBLIC weft_options ${MODULE_LIBRARIES})
  # The Python extension is a shared object. Functions of ours are replaced by
  # nobody, so that this costs neither calls nor inlining.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -fno-semantic-interposition
    ${MODULE_OPTIONS})
  weft_join(${target})
  if(MODULE_COLD)
    target_link_libraries(${target} PRIVATE weft_cold)
  elseif(MODULE_RARE)
    target_link_libraries(${target} PRIVATE weft_rare)
  endif()
  # Headers must have been precompiled with the options of their readers: GCC 12
  # takes others without a word, and then compiles functions for other
  # instruction sets with the options of the headers.
  if(MODULE_OPTIONS)
    target_precompile_headers(${target} PRIVATE ${WEFT_COMMON_HEADERS}
      ${WEFT_VECTOR_HEADERS})
  elseif(MODULE_COLD OR MODULE_RARE)
    target_precompile_headers(${target} REUSE_FROM weft_cold_headers)
  else()
    target_precompile_headers(${target} REUSE_FROM weft_hot_headers)
  endif()
  foreach(library IN LISTS MODULE_INTO)
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:${target}>)
    target_link_libraries(${library} PUBLIC ${MODULE_LIBRARIES})
  endforeach()
endfunction()

# weft_registrations(VARIABLE PREFIX … REGISTRY … HEADER … ACCESSOR … FOLDER …
#   [KIND …] [WITHOUT source…]): the sources of a folder whose files register
# themselves, and one more, written here, that fills the registry: FOLDER/softmax.cpp
# must define
#   void register_<PREFIX>softmax(<REGISTRY>&);
# KIND is what the registry's constructor is given, if it takes anything.
# Static constructors would be shorter, but a linker drops the objects of a
# static library that nobody names. Files in the same folder of WEFT_EXTENSIONS
# join them.
function(weft_registrations variable)
  cmake_parse_arguments(R "" "PREFIX;REGISTRY;HEADER;ACCESSOR;FOLDER;KIND" "WITHOUT"
    ${ARGN})
  if(R_KIND)
    set(construction "(\"${R_KIND}\")")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${R_FOLDER}/*.cpp)
  list(TRANSFORM R_WITHOUT PREPEND ${CMAKE_SOURCE_DIR}/${R_FOLDER}/)
  list(REMOVE_ITEM sources ${R_WITHOUT})
  foreach(extension IN LISTS WEFT_EXTENSIONS)
    file(GLOB more CONFIGURE_DEPENDS ${extension}/${R_FOLDER}/*.cpp)
    list(APPEND sources ${more})
    # Not joined with ours (weft_join), whose names they cannot know.
    set_source_files_properties(${more} PROPERTIES
      SKIP_UNITY_BUILD_INCLUSION ON)
    set_property(GLOBAL APPEND PROPERTY WEFT_EXTENSION_SOURCES ${more})
  endforeach()
  set(declarations "")
  set(calls "")
  set(stems "")
  foreach(source IN LISTS sources)
    get_filename_component(stem ${source} NAME_WE)
    if(stem IN_LIST stems)
      message(FATAL_ERROR "two files are called ${R_FOLDER}/${stem}.cpp")
    endif()
    list(APPEND stems ${stem})
    string(APPEND declarations
      "void register_${R_PREFIX}${stem}(${R_REGISTRY}& registry);\n")
    string(APPEND calls "    register_${R_PREFIX}${stem}(registry);\n")
  endforeach()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${R_ACCESSOR}.cpp)
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
// Written by the build from the file names of @R_FOLDER@.
#include "@R_HEADER@"

namespace weft {

@declarations@
const @R_REGISTRY@& @R_ACCESSOR@() {
  static const @R_REGISTRY@ filled = [] {
    @R_REGISTRY@ registry@construction@;
@calls@    registry.freeze();
    return registry;
  }();
  return filled;
}

}  // namespace weft
]])
  set(${variable} ${output} ${sources} PARENT_SCOPE)
endfunction()

# A source of WEFT_EXTENSIONS that no registry takes would be left out unseen.
function(weft_check_extensions)
  get_property(taken GLOBAL PROPERTY WEFT_EXTENSION_SOURCES)
  foreach(extension IN LISTS WEFT_EXTENSIONS)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${extension}/*.cpp)
    if(NOT sources)
      message(FATAL_ERROR "WEFT_EXTENSIONS: no sources are in ${extension}")
    endif()
    list(REMOVE_ITEM sources ${taken})
    if(sources)
      message(FATAL_ERROR "WEFT_EXTENSIONS: no registry takes ${sources}; its "
        "folder must be called as one of Weft's: weft/train/tasks, …")
    endif()
  endforeach()
endfunction()
