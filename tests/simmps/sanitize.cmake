# Configures, builds and runs the tests of the simulated device's torch-free part with sanitizers, in a
# build of their own: cmake -D source= -D binary= -D sanitizers= -D compiler= -D generator= -D prefix= -D qt=
# -P sanitize.cmake. Without a window or libtorch, each folder in one unit: it takes seconds.
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} with -fsanitize=${sanitizers} failed (${status}).")
  endif()
endfunction()

# Unoptimised code compiles in half the time; under the thread sanitizer the tests would run longer than that saves.
set(level 0)
if(sanitizers STREQUAL "thread")
  set(level 1)
endif()
run("Configuring" "${CMAKE_COMMAND}" -S "${source}" -B "${binary}" -G "${generator}"
  --log-level=WARNING
  -D "CMAKE_CXX_COMPILER=${compiler}" -D "CMAKE_PREFIX_PATH=${prefix}" -D "Qt6_DIR=${qt}"
  -D CMAKE_BUILD_TYPE=Debug -D "CMAKE_CXX_FLAGS_DEBUG=-O${level} -g1"
  -D HIGHWATER_GUI=OFF -D HIGHWATER_WORKER=OFF -D "HIGHWATER_SANITIZE=${sanitizers}"
  -D CMAKE_UNITY_BUILD=ON -D CMAKE_UNITY_BUILD_BATCH_SIZE=0 -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON
  -D CMAKE_CXX_FLAGS=-Wno-subobject-linkage)
run("Building" "${CMAKE_COMMAND}" --build "${binary}" --target tst_simmps --parallel 2)

# Qt is not instrumented; tsan.supp lists what is suppressed, and why. Children that tests fork
# start threads of their own.
set(ENV{TSAN_OPTIONS}
  "suppressions=${source}/tests/simmps/tsan.supp halt_on_error=1 die_after_fork=0")
set(ENV{UBSAN_OPTIONS} "print_stacktrace=1 halt_on_error=1")
# heap_allocator_property makes a million operations without sanitizers.
set(ENV{HIGHWATER_TEST_OPERATIONS} 10000)
run("Testing" "${CMAKE_CTEST_COMMAND}" --test-dir "${binary}" -L "^policy$" --output-on-failure --no-tests=error)
