# libtorch, and the one precompiled header that all files including it share: <ATen/ATen.h> costs
# seconds a file without it.
find_package(Torch 2.6 REQUIRED)

# highwater_torch(<target>): links libtorch. NDEBUG always: in a debug build RecordFunction::inputs()
# would assert against a release libtorch, and its exception is swallowed with the event.
function(highwater_torch target)
  separate_arguments(torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
  target_compile_options(${target} PRIVATE ${torch_flags})
  target_compile_definitions(${target} PRIVATE NDEBUG)
  target_include_directories(${target} SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(${target} PUBLIC ${TORCH_LIBRARIES})
endfunction()
