# find_package(HighwaterQCustomPlot) defines the target highwater_qcustomplot. Needs Qt6 Widgets and
# PrintSupport first. Uses, in this order:
#   1. HIGHWATER_QCUSTOMPLOT_SOURCE=<folder with qcustomplot.h and .cpp>
#   2. the package QCustomPlotQt6 (Debian, Ubuntu: libqcustomplot-dev)
#   3. the released source, fetched from the author's site and checked by its SHA-256 (macOS: Homebrew has
#      no QCustomPlot)
# QCUSTOMPLOT_USE_OPENGL stays undefined: the widgets draw with QPainter, so that they also draw offscreen.

set(HIGHWATER_QCUSTOMPLOT_SOURCE "" CACHE PATH
  "Folder with qcustomplot.h and qcustomplot.cpp to build, instead of a package or the released source")
set(HIGHWATER_QCUSTOMPLOT_URL
  "https://www.qcustomplot.com/release/2.1.1/QCustomPlot-source.tar.gz" CACHE STRING
  "Released source of QCustomPlot; another place (file:// too) must hold the same file")
mark_as_advanced(HIGHWATER_QCUSTOMPLOT_SOURCE HIGHWATER_QCUSTOMPLOT_URL)
set(_qcp_sha256 5e2d22dec779db8f01f357cbdb25e54fbcf971adaee75eae8d7ad2444487182f)

function(_highwater_build_qcustomplot folder)
  add_library(highwater_qcustomplot_static STATIC "${folder}/qcustomplot.cpp" "${folder}/qcustomplot.h")
  set_target_properties(highwater_qcustomplot_static PROPERTIES AUTOMOC ON CXX_CLANG_TIDY "")
  target_include_directories(highwater_qcustomplot_static SYSTEM PUBLIC "${folder}")
  # Third-party code: its warnings must not stop a build with -Werror.
  target_compile_options(highwater_qcustomplot_static PRIVATE -w)
  target_link_libraries(highwater_qcustomplot_static PUBLIC Qt6::Widgets Qt6::PrintSupport)
  target_link_libraries(highwater_qcustomplot INTERFACE highwater_qcustomplot_static)
endfunction()

if(NOT TARGET highwater_qcustomplot)
  if(NOT TARGET Qt6::Widgets OR NOT TARGET Qt6::PrintSupport)
    message(FATAL_ERROR "QCustomPlot needs find_package(Qt6 COMPONENTS Widgets PrintSupport) first")
  endif()
  add_library(highwater_qcustomplot INTERFACE)
  if(NOT HIGHWATER_QCUSTOMPLOT_SOURCE)
    find_package(QCustomPlotQt6 CONFIG QUIET)
  endif()
  if(HIGHWATER_QCUSTOMPLOT_SOURCE)
    if(NOT EXISTS "${HIGHWATER_QCUSTOMPLOT_SOURCE}/qcustomplot.cpp")
      message(FATAL_ERROR
        "HIGHWATER_QCUSTOMPLOT_SOURCE=${HIGHWATER_QCUSTOMPLOT_SOURCE} holds no qcustomplot.cpp")
    endif()
    message(STATUS "QCustomPlot: from ${HIGHWATER_QCUSTOMPLOT_SOURCE}")
    _highwater_build_qcustomplot("${HIGHWATER_QCUSTOMPLOT_SOURCE}")
  elseif(QCustomPlotQt6_FOUND)
    message(STATUS "QCustomPlot: ${QCustomPlotQt6_DIR}")
    target_link_libraries(highwater_qcustomplot INTERFACE QCustomPlotQt6::QCustomPlotQt6)
  else()
    message(STATUS "QCustomPlot: fetching ${HIGHWATER_QCUSTOMPLOT_URL} (without a network: unpack it "
      "and give -DHIGHWATER_QCUSTOMPLOT_SOURCE=<folder>)")
    include(FetchContent)
    FetchContent_Declare(qcustomplot URL "${HIGHWATER_QCUSTOMPLOT_URL}"
      URL_HASH SHA256=${_qcp_sha256} DOWNLOAD_EXTRACT_TIMESTAMP OFF)
    FetchContent_MakeAvailable(qcustomplot)
    _highwater_build_qcustomplot("${qcustomplot_SOURCE_DIR}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
set(HighwaterQCustomPlot_TARGET highwater_qcustomplot)
find_package_handle_standard_args(HighwaterQCustomPlot DEFAULT_MSG HighwaterQCustomPlot_TARGET)
unset(_qcp_sha256)
