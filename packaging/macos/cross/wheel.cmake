# Included into the project by packaging/macos/wheel: where the wheel's programs look for libraries and data.
set(CMAKE_SKIP_RPATH ON)

function(highwater_for_wheel)
  if(TARGET highwater)
    target_link_options(highwater PRIVATE "LINKER:-rpath,@loader_path/../Qt/lib")
  endif()
  # A PyTorch in the same site-packages; any other is given by DYLD_LIBRARY_PATH.
  target_link_options(highwater-worker PRIVATE "LINKER:-rpath,@loader_path/../../../torch/lib")
  # Where a build finds the sources, an installed program finds nothing.
  foreach(target IN ITEMS highwater_session highwater_worker_core)
    if(TARGET ${target})
      get_target_property(definitions ${target} COMPILE_DEFINITIONS)
      string(REPLACE "${PROJECT_SOURCE_DIR}" "/nonexistent" definitions "${definitions}")
      set_target_properties(${target} PROPERTIES COMPILE_DEFINITIONS "${definitions}")
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL highwater_for_wheel)
