# The window, as a library: linked by the program and by its tests.
add_library(highwater_window STATIC
  accept_dialog.h accept_dialog.cpp
  device_badge.h device_badge.cpp
  findings_dock.h findings_dock.cpp
  help_dialogs.h help_dialogs.cpp
  main_window.h main_window.cpp main_window_files.cpp
  run_control.h run_control.cpp
  run_status_bar.h run_status_bar.cpp
  run_tool_bar.h run_tool_bar.cpp
  theme_choice.h theme_choice.cpp
  window_actions.h window_actions.cpp
  window_docks.h window_docks.cpp
  window_picture.h window_picture.cpp)
target_include_directories(highwater_window PUBLIC "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(highwater_window
  PUBLIC highwater_app highwater_views highwater_models highwater_session highwater_store highwater_analysis
         highwater_wire highwater_core Qt6::Widgets)
set_target_properties(highwater_window PROPERTIES AUTOMOC ON)
highwater_compile_options(highwater_window)
