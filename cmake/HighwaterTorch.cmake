# libtorch, and precompiled headers for the files that include it: <ATen/ATen.h> costs 6 s a file
# without one, <torch/torch.h> 15 s.
find_package(Torch 2.6 REQUIRED)

# highwater_torch(<target> [PCH ATen|torch]): links libtorch. NDEBUG always: in a debug build
# RecordFunction::inputs() would assert against a release libtorch, and its exception is swallowed
# with the event. PCH: the target's files share one precompiled <ATen/ATen.h> (with
# <torch/library.h>) or <torch/torch.h>; call highwater_compile_options() on the target too, for a
# precompiled header fits only the flags that it was made with. Libraries only: programs compile
# with -fPIE. A file still includes what it uses.
function(highwater_torch target)
  cmake_parse_arguments(arg "" "PCH" "" ${ARGN})
  highwater_torch_flags(${target})
  target_link_libraries(${target} PUBLIC ${TORCH_LIBRARIES})
  if(arg_PCH)
    highwater_torch_pch(${arg_PCH})
    # The macro that CMake defines for a shared library would make the flags differ.
    set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "")
    highwater_reuse_pch(${target} highwater_torch_pch_${arg_PCH})
  endif()
endfunction()

function(highwater_torch_flags target)
  separate_arguments(torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
  target_compile_options(${target} PRIVATE ${torch_flags})
  target_compile_definitions(${target} PRIVATE NDEBUG)
  target_include_directories(${target} SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
endfunction()

# One target for each precompiled header, made at its first use.
function(highwater_torch_pch which)
  set(name highwater_torch_pch_${which})
  if(TARGET ${name})
    return()
  endif()
  if(which STREQUAL "ATen")
    set(headers "<ATen/ATen.h>" "<ATen/record_function.h>" "<torch/library.h>")
  elseif(which STREQUAL "torch")
    set(headers "<torch/torch.h>")
  else()
    message(FATAL_ERROR "highwater_torch(PCH ${which}): only ATen and torch exist")
  endif()
  highwater_pch_source(source ${name})
  add_library(${name} OBJECT "${source}")
  highwater_torch_flags(${name})
  target_link_libraries(${name} PRIVATE ${TORCH_LIBRARIES})
  highwater_compile_options(${name})
  highwater_precompile(${name} ${headers})
endfunction()
