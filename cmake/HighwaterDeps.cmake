# One interface target for each small library, whether it comes from Debian, Ubuntu, Homebrew or the
# stub libraries of packaging/macos/cross-link:
#   highwater_flatbuffers_headers  headers only: generated code needs no library
#   highwater_zstd, highwater_sqlite  for recordings, so only with HIGHWATER_GUI
#   highwater_json, highwater_protozero  headers only
#   highwater_zlib  for compressed traces, so only with HIGHWATER_GUI
#   highwater_elfutils  for call sites; only on Linux, and optional
include_guard(GLOBAL)

# highwater_interface(<target> <library or target> [<include folder>])
function(highwater_interface target library)
  add_library(${target} INTERFACE)
  target_link_libraries(${target} INTERFACE ${library})
  if(ARGN)
    target_include_directories(${target} SYSTEM INTERFACE ${ARGN})
  endif()
endfunction()

# Debian 12's zstd package defines only the targets libzstd_shared and libzstd_static, later versions
# also libzstd. The macOS cross build has no zstd package, only the library.
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

# The headers must be of the same version as flatc: generated code rejects any other.
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

# highwater_find_headers(<target> <header> <name> <Debian's package> <Homebrew's>): a library of headers.
function(highwater_find_headers target header name debian homebrew)
  string(TOUPPER "${target}_INCLUDE_DIR" folder)
  find_path(${folder} ${header})
  if(NOT ${folder})
    message(FATAL_ERROR "${name} was not found: install ${debian} (Homebrew: ${homebrew}), "
      "or run packaging/setup")
  endif()
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE "${${folder}}")
endfunction()

function(highwater_find_zlib)
  find_package(ZLIB QUIET)
  if(NOT ZLIB_FOUND)
    message(FATAL_ERROR
      "zlib was not found: install zlib1g-dev (macOS's SDK has it), or run packaging/setup")
  endif()
  highwater_interface(highwater_zlib ZLIB::ZLIB)
endfunction()

# With elfutils a call site has file and line, without it a function name at best.
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

highwater_find_flatbuffers()
if(HIGHWATER_GUI)
  highwater_find_zstd()
  highwater_find_sqlite()
  highwater_find_headers(highwater_protozero protozero/pbf_writer.hpp protozero libprotozero-dev protozero)
  highwater_find_zlib()
endif()
highwater_find_headers(highwater_json nlohmann/json.hpp nlohmann-json nlohmann-json3-dev nlohmann-json)
if(NOT APPLE)
  highwater_find_elfutils()
endif()
