# cmake --install build/release --prefix X: a tree that runs from X, or from wherever X is moved to.
# highwater looks for highwater-worker beside it; highwater-worker looks for the simulated device in
# ../lib and for the sample data in ../share/highwater/datasets. libtorch, Qt and the other libraries
# are not copied: programs find them where they were linked from (CMAKE_INSTALL_RPATH_USE_LINK_PATH).
if(HIGHWATER_GUI)
  install(TARGETS highwater RUNTIME DESTINATION bin)
endif()
if(HIGHWATER_WORKER)
  install(TARGETS highwater-worker RUNTIME DESTINATION bin)
  install(TARGETS highwater_script LIBRARY DESTINATION lib/script)
  install(DIRECTORY "${CMAKE_BINARY_DIR}/lib/script/" DESTINATION lib/script
    PATTERN "libhighwater_script.so" EXCLUDE)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/python/highwater_mps" DESTINATION share/highwater/python
    FILES_MATCHING PATTERN "*.py")
  install(FILES "${PROJECT_SOURCE_DIR}/src/python/LICENSE" DESTINATION share/highwater/python)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/resources/datasets" DESTINATION share/highwater
    FILES_MATCHING PATTERN "*.csv" PATTERN "README.md")
endif()
if(TARGET highwater_simmps)
  # "lib" on every system, also where libraries usually go to lib64 or to lib/<architecture>.
  install(TARGETS highwater_simmps highwater_simmps_device LIBRARY DESTINATION lib)
  set_target_properties(highwater-worker PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
endif()
# CMake leaves folders of the checkout out of the link path, and there is the libtorch of its .venv.
if(TORCH_LIBRARY)
  get_filename_component(torch_folder "${TORCH_LIBRARY}" DIRECTORY)
  cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${torch_folder}" NORMALIZE torch_is_in_checkout)
  foreach(program IN ITEMS highwater-worker highwater_simmps highwater_simmps_device highwater_script)
    if(torch_is_in_checkout AND TARGET ${program})
      set_property(TARGET ${program} APPEND PROPERTY INSTALL_RPATH "${torch_folder}")
    endif()
  endforeach()
endif()

install(FILES LICENSE README.md DESTINATION share/doc/highwater)
if(HIGHWATER_GUI AND NOT APPLE)
  set(desktop "${PROJECT_SOURCE_DIR}/packaging/linux")
  install(FILES "${desktop}/highwater.desktop" DESTINATION share/applications)
  install(FILES "${desktop}/io.github.highwater.highwater.metainfo.xml" DESTINATION share/metainfo)
  install(FILES "${desktop}/highwater-mime.xml" DESTINATION share/mime/packages)
  install(FILES "${desktop}/highwater.svg" DESTINATION share/icons/hicolor/scalable/apps)
endif()
