# Finds the Python whose torch is the libtorch of this build: tests of the simulated device use it. Sets
#   HIGHWATER_PYTHON          the interpreter; empty if there is none
#   HIGHWATER_PYTHON_TESTING  true if it also has what PyTorch's own testing modules import
#   HIGHWATER_TORCH_FOLDER    the folder of the libtorch: of the wheel's package torch, or of the archive
# Include after HighwaterTorch. With a libtorch without Python (libtorch.zip, Debian's libtorch-dev) the tests
# that need it are left out, and configuring says so.
set(HIGHWATER_TORCH_PYTHON "" CACHE FILEPATH
    "Python whose torch is the libtorch of Torch_DIR; empty: found from Torch_DIR")

cmake_path(SET HIGHWATER_TORCH_FOLDER NORMALIZE "${Torch_DIR}/../../..")
string(REGEX REPLACE "/$" "" HIGHWATER_TORCH_FOLDER "${HIGHWATER_TORCH_FOLDER}")

# Sets `result` to the reason why `python` cannot be used; empty if it can. Only locates torch, because
# importing it would take seconds.
function(highwater_check_python python result)
  execute_process(
    COMMAND "${python}" -c
      "import importlib.util as u, os; s = u.find_spec('torch'); print(os.path.dirname(s.origin) if s and s.origin else '')"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  set(${result} "" PARENT_SCOPE)
  if(NOT status EQUAL 0)
    set(${result} "it does not run" PARENT_SCOPE)
  elseif(NOT found)
    set(${result} "it has no torch" PARENT_SCOPE)
  else()
    file(REAL_PATH "${found}" found)
    file(REAL_PATH "${HIGHWATER_TORCH_FOLDER}" wanted)
    if(NOT found STREQUAL wanted)
      set(${result} "its torch is ${found}, not ${wanted}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

# The wheel lies in PREFIX/lib/python3.N/site-packages/torch.
function(highwater_find_python result)
  set(${result} "" PARENT_SCOPE)
  if(NOT EXISTS "${HIGHWATER_TORCH_FOLDER}/__init__.py")
    return()
  endif()
  set(names python3)
  set(candidates)
  if(HIGHWATER_TORCH_FOLDER MATCHES "^(.*)/lib(64)?/(python3[.0-9]*)/(site|dist)-packages/torch$")
    list(PREPEND names "${CMAKE_MATCH_3}")
    list(APPEND candidates "${CMAKE_MATCH_1}/bin/${CMAKE_MATCH_3}" "${CMAKE_MATCH_1}/bin/python3")
  endif()
  foreach(name IN LISTS names)
    find_program(on_path "${name}" NO_CACHE)
    if(on_path)
      list(APPEND candidates "${on_path}")
    endif()
    unset(on_path)
  endforeach()
  foreach(candidate IN LISTS candidates)
    if(EXISTS "${candidate}")
      highwater_check_python("${candidate}" problem)
      if(NOT problem)
        set(${result} "${candidate}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

if(HIGHWATER_TORCH_PYTHON)
  highwater_check_python("${HIGHWATER_TORCH_PYTHON}" problem)
  if(problem)
    message(FATAL_ERROR "HIGHWATER_TORCH_PYTHON is ${HIGHWATER_TORCH_PYTHON}, but ${problem}. Give a "
      "Python whose torch is the libtorch of Torch_DIR, or unset it (-UHIGHWATER_TORCH_PYTHON).")
  endif()
  set(HIGHWATER_PYTHON "${HIGHWATER_TORCH_PYTHON}")
else()
  highwater_find_python(HIGHWATER_PYTHON)
endif()

set(HIGHWATER_PYTHON_TESTING FALSE)
if(HIGHWATER_PYTHON)
  message(STATUS "Python of this libtorch: ${HIGHWATER_PYTHON}")
  # So that installing a package there configures again.
  cmake_path(GET HIGHWATER_TORCH_FOLDER PARENT_PATH packages)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${packages}")
  # torch.testing._internal needs only these two beyond torch's own requirements.
  execute_process(COMMAND "${HIGHWATER_PYTHON}" -c "import numpy, expecttest"
    RESULT_VARIABLE status ERROR_QUIET)
  if(status EQUAL 0)
    set(HIGHWATER_PYTHON_TESTING TRUE)
  endif()
endif()
if(HIGHWATER_TESTS AND NOT APPLE)
  if(NOT HIGHWATER_PYTHON)
    message(STATUS "No Python has this libtorch (${HIGHWATER_TORCH_FOLDER}): the tests simmps_python* "
      "and simmps_conformance* are left out. HIGHWATER_TORCH_PYTHON names one.")
  elseif(NOT HIGHWATER_PYTHON_TESTING)
    message(STATUS "${HIGHWATER_PYTHON} has no numpy or no expecttest: the tests simmps_conformance* "
      "are left out. To add them: ${HIGHWATER_PYTHON} -m pip install numpy expecttest")
  endif()
endif()
