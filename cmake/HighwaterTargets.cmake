# highwater_library(<folder> [SOURCES ...] [LINK ...]): the static library highwater_<folder> of a folder of
# src/. Its headers are included as "<folder>/header.h".

function(highwater_compile_options target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wunused-result
    $<$<BOOL:${HIGHWATER_WERROR}>:-Werror>)
  if(HIGHWATER_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${HIGHWATER_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${HIGHWATER_SANITIZE})
  endif()
endfunction()

# highwater_unity(<target>): with HIGHWATER_UNITY its sources are compiled in units of up to 40 files, all of the same
# size. Much of a unit's time goes to the headers that its files share: cli/ takes 24 s of processor time as one unit
# and 41 s as three, worker/ 43 and 83, up to 2.3 GB. Files of a folder are compiled together, so no two may define the
# same name, not even in an unnamed namespace. Call it when the target has its sources.
function(highwater_unity target)
  if(NOT HIGHWATER_UNITY)
    return()
  endif()
  set(most 40)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(LENGTH sources count)
  if(count EQUAL 0)
    return()
  endif()
  math(EXPR units "(${count} + ${most} - 1) / ${most}")
  math(EXPR size "${count} / ${units} + 1")  # with room for what moc generates
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  # subobject-linkage: GCC treats a .cpp that a unit includes as a header, and warns of classes whose members are of
  # types in an unnamed namespace. The other two: false positives of GCC 12 on inlined std::string and std::variant.
  # The weekly build without units has all three (.github/workflows/linux.yml).
  target_compile_options(${target} PRIVATE
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage;-Wno-array-bounds;-Wno-maybe-uninitialized>")
endfunction()

function(highwater_library folder)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(highwater_${folder} STATIC ${arg_SOURCES})
  target_include_directories(highwater_${folder} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(highwater_${folder} PUBLIC ${arg_LINK})
  highwater_compile_options(highwater_${folder})
  highwater_unity(highwater_${folder})
endfunction()

# Precompiled headers. They only save time: a file still includes what it uses. One is only valid for the
# flags and macros that it was made with.
#   highwater_precompile(<target> <header>...)  makes one of these headers, for the target
#   highwater_reuse_pch(<target> <other>)       the target uses the other target's
#   highwater_pch_source(<variable> <name>)     writes a source for a target that only carries one
function(highwater_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  highwater_pch_ccache(${target})
endfunction()

function(highwater_reuse_pch target other)
  target_precompile_headers(${target} REUSE_FROM ${other})
  highwater_pch_ccache(${target})
endfunction()

function(highwater_pch_source variable name)
  set(source "${PROJECT_BINARY_DIR}/generated/${name}.cpp")
  if(NOT EXISTS "${source}")
    file(WRITE "${source}" "// Carries a precompiled header.\nint main() { return 0; }\n")
  endif()
  set(${variable} "${source}" PARENT_SCOPE)
endfunction()

# ccache only caches precompiled headers if it may ignore their time stamps. Clang writes the time stamps of
# the headers into a precompiled one, and refuses it after the build folder was deleted and ccache gave back
# the old one.
function(highwater_pch_ccache target)
  if(CCACHE)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${CCACHE}")
  endif()
endfunction()

# highwater_flatbuffers(<target> <schema.fbs> [INCLUDE dir...] [DEPENDS file...]): generates C++ with flatc
# in the build folder, included as "<folder>/<schema>_generated.h".
function(highwater_flatbuffers target schema)
  cmake_parse_arguments(arg "" "" "INCLUDE;DEPENDS" ${ARGN})
  find_program(FLATC flatc REQUIRED)
  get_filename_component(name "${schema}" NAME_WE)
  get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  set(out "${PROJECT_BINARY_DIR}/generated/${folder}")
  set(includes)
  foreach(dir IN LISTS arg_INCLUDE)
    list(APPEND includes -I "${dir}")
  endforeach()
  add_custom_command(
    OUTPUT "${out}/${name}_generated.h"
    COMMAND "${FLATC}" --cpp --gen-mutable --scoped-enums --cpp-std c++17 --keep-prefix ${includes}
            -o "${out}" "${CMAKE_CURRENT_SOURCE_DIR}/${schema}"
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${schema}" ${arg_DEPENDS}
    COMMENT "flatc ${folder}/${schema}"
    VERBATIM)
  target_sources(${target} PRIVATE "${out}/${name}_generated.h")
  add_custom_target(${target}_${name}_schema DEPENDS "${out}/${name}_generated.h")
  add_dependencies(${target} ${target}_${name}_schema)
  target_include_directories(${target} SYSTEM PUBLIC "${PROJECT_BINARY_DIR}/generated")
endfunction()
