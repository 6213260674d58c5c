#pragma once

#include <cstddef>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>

/// Checks of the simulated device; tst_simmps_device.cpp runs each in its own process.
namespace checks {

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Function = void (*)();
struct Registered {
  Registered(const char* name, Function function);
};

/// True if PyTorch reports MPS.
bool askForMps();

/// torch.mps.current_allocated_memory(), once the device is idle.
std::size_t settledMemory();

/// Text of the exception that `action` throws; fails if it throws none.
template <typename Error, typename Action>
std::string thrown(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  throw Failed("nothing was thrown");
}

}  // namespace checks

#define CHECK_CASE(name)                                           \
  static void name();                                              \
  static const checks::Registered registered_##name(#name, &name); \
  static void name()

#define REQUIRE(condition)                                                          \
  do {                                                                              \
    if (!(condition)) {                                                             \
      throw checks::Failed(std::string(__FILE__) + ":" + std::to_string(__LINE__) + \
                           ": not true: " #condition);                              \
    }                                                                               \
  } while (false)

#define REQUIRE_EQUAL(actual, expected)                                                        \
  do {                                                                                         \
    const auto& actualValue = (actual);                                                        \
    const auto& expectedValue = (expected);                                                    \
    if (!(actualValue == expectedValue)) {                                                     \
      std::ostringstream problem;                                                              \
      problem << __FILE__ << ":" << __LINE__ << ": " #actual " is " << actualValue << ", not " \
              << expectedValue;                                                                \
      throw checks::Failed(problem.str());                                                     \
    }                                                                                          \
  } while (false)
