# libtorch, and a precompiled header for the simulated device, most of whose files include <ATen/ATen.h>:
# that takes 6 s a file without one. A precompiled <torch/torch.h> does not pay: a file that includes little
# of libtorch compiles in 4 s, and in 13 s with that header (GCC 12).
find_package(Torch 2.6 REQUIRED)
set(HIGHWATER_TORCH_BUILD "" CACHE STRING
    "Version of the libtorch of Torch_DIR, from packaging/setup; when it changes, packaging/run configures afresh")

# highwater_torch(<target> [PCH]) links a target to libtorch.
# It defines NDEBUG even in a debug build: RecordFunction::inputs() would otherwise assert against a
# release libtorch, and PyTorch swallows that exception together with the event.
# PCH, for a library: its files share one precompiled <ATen/ATen.h> (with <torch/library.h>), but not with
# HIGHWATER_UNITY, since making it takes longer than three units save; each file still includes what it uses. The
# target also needs highwater_compile_options(), because a precompiled header is only valid for the flags that it
# was made with.
function(highwater_torch target)
  cmake_parse_arguments(arg "PCH" "" "" ${ARGN})
  highwater_torch_flags(${target})
  target_link_libraries(${target} PUBLIC ${TORCH_LIBRARIES})
  if(arg_PCH AND NOT HIGHWATER_UNITY)
    highwater_torch_pch()
    # The macro that CMake defines for a shared library would make the flags differ.
    set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "")
    highwater_reuse_pch(${target} highwater_torch_pch)
  endif()
endfunction()

function(highwater_torch_flags target)
  separate_arguments(torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
  target_compile_options(${target} PRIVATE ${torch_flags})
  target_compile_definitions(${target} PRIVATE NDEBUG)
  target_include_directories(${target} SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
endfunction()

# Makes the target that carries the precompiled header, at its first use.
function(highwater_torch_pch)
  if(TARGET highwater_torch_pch)
    return()
  endif()
  highwater_pch_source(source highwater_torch_pch)
  add_library(highwater_torch_pch OBJECT "${source}")
  highwater_torch_flags(highwater_torch_pch)
  target_link_libraries(highwater_torch_pch PRIVATE ${TORCH_LIBRARIES})
  highwater_compile_options(highwater_torch_pch)
  highwater_precompile(highwater_torch_pch <ATen/ATen.h> <ATen/record_function.h> <torch/library.h>)
endfunction()
