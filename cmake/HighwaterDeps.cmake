# The small libraries under one name each, wherever they come from: Debian, Ubuntu, Homebrew, or the
# stub libraries of packaging/macos/cross-link.
#   highwater_zstd, highwater_sqlite: library and headers
#   highwater_flatbuffers_headers: headers only (generated code needs no library)
#   highwater_elfutils: library and headers, on Linux, where it was found
include_guard(GLOBAL)

# highwater_interface(<target> <library or target> [<include folder>])
function(highwater_interface target library)
  add_library(${target} INTERFACE)
  target_link_libraries(${target} INTERFACE ${library})
  if(ARGN)
    target_include_directories(${target} SYSTEM INTERFACE ${ARGN})
  endif()
endfunction()

# Debian 12's package file knows only libzstd_shared and libzstd_static, newer ones libzstd too; the
# cross build has no package file at all.
function(highwater_find_zstd)
  find_package(zstd CONFIG QUIET)
  foreach(candidate zstd::libzstd zstd::libzstd_shared zstd::libzstd_static)
    if(TARGET ${candidate})
      highwater_interface(highwater_zstd ${candidate})
      return()
    endif()
  endforeach()
  find_path(HIGHWATER_ZSTD_INCLUDE_DIR zstd.h)
  find_library(HIGHWATER_ZSTD_LIBRARY zstd)
  if(NOT HIGHWATER_ZSTD_INCLUDE_DIR OR NOT HIGHWATER_ZSTD_LIBRARY)
    message(FATAL_ERROR "zstd was not found: install libzstd-dev (Homebrew: zstd), or run packaging/setup")
  endif()
  highwater_interface(highwater_zstd "${HIGHWATER_ZSTD_LIBRARY}" "${HIGHWATER_ZSTD_INCLUDE_DIR}")
endfunction()

function(highwater_find_sqlite)
  find_package(SQLite3 QUIET)
  if(NOT SQLite3_FOUND)
    message(FATAL_ERROR
      "SQLite was not found: install libsqlite3-dev (Homebrew: sqlite), or run packaging/setup")
  endif()
  # CMake 4.3 renamed the target.
  if(TARGET SQLite3::SQLite3)
    highwater_interface(highwater_sqlite SQLite3::SQLite3)
  else()
    highwater_interface(highwater_sqlite SQLite::SQLite3)
  endif()
endfunction()

# The headers that belong to the flatc found: generated code refuses those of another version.
function(highwater_find_flatbuffers)
  find_program(FLATC flatc)
  if(FLATC)
    get_filename_component(flatc_folder "${FLATC}" DIRECTORY)
  endif()
  find_path(HIGHWATER_FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h
    HINTS "${flatc_folder}/../include")
  if(NOT FLATC OR NOT HIGHWATER_FLATBUFFERS_INCLUDE_DIR)
    message(FATAL_ERROR "FlatBuffers was not found: install libflatbuffers-dev and "
      "flatbuffers-compiler (Homebrew: flatbuffers), or run packaging/setup")
  endif()
  add_library(highwater_flatbuffers_headers INTERFACE)
  target_include_directories(highwater_flatbuffers_headers SYSTEM INTERFACE
    "${HIGHWATER_FLATBUFFERS_INCLUDE_DIR}")
endfunction()

# elfutils names call sites by file and line; without it they have function names at best.
function(highwater_find_elfutils)
  find_path(HIGHWATER_ELFUTILS_INCLUDE_DIR elfutils/libdwfl.h)
  find_library(HIGHWATER_ELFUTILS_LIBRARY dw)
  if(HIGHWATER_ELFUTILS_INCLUDE_DIR AND HIGHWATER_ELFUTILS_LIBRARY)
    highwater_interface(highwater_elfutils "${HIGHWATER_ELFUTILS_LIBRARY}"
      "${HIGHWATER_ELFUTILS_INCLUDE_DIR}")
  else()
    message(WARNING "elfutils was not found: call sites will have no line numbers. "
      "Install libdw-dev, or run packaging/setup")
  endif()
endfunction()

if(NOT APPLE)
  highwater_find_elfutils()
endif()
highwater_find_zstd()
highwater_find_sqlite()
highwater_find_flatbuffers()
