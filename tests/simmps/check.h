#pragma once

#include <cstddef>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>

/// Checks of the simulated device, each run in a process of its own by tst_simmps_device.cpp.
namespace checks {

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Function = void (*)();
struct Registered {
  Registered(const char* name, Function function);
};

/// Asks PyTorch whether there is MPS.
bool askForMps();

/// torch.mps.current_allocated_memory(), once the device is idle.
std::size_t settledMemory();

/// Text of what `action` throws; fails where it throws nothing.
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
