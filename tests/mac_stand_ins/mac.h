#pragma once

#include <CoreFoundation/CoreFoundation.h>
#include <mach/mach.h>
#include <sys/sysctl.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

/// A made-up Mac: what the stand-ins of Mach, IOKit, CoreFoundation, sysctl, dyld and the
/// Objective-C runtime answer. They show what Highwater makes of answers, also of wrong ones;
/// whether a real Mac gives such answers they cannot show.
namespace highwater::test {

/// A value of an accelerator's PerformanceStatistics: a CFNumber of an integer or a real number, or
/// an object of another type.
struct OtherType {};
using Statistic = std::variant<std::int64_t, double, OtherType>;

/// What an accelerator has under PerformanceStatistics: a dictionary, an object of another type, or
/// nothing.
using Statistics = std::variant<std::map<std::string, Statistic>, OtherType, std::monostate>;

struct Mac {
  // Mach
  kern_return_t taskInfo = KERN_SUCCESS, hostStatistics = KERN_SUCCESS;
  std::uint64_t footprintBytes = 0;
  vm_statistics64_data_t pages{};
  /// How much of `pages` the kernel fills; an older one has fewer fields.
  mach_msg_type_number_t filled = HOST_VM_INFO64_COUNT;
  // sysctl: the bytes of each name; others are unknown
  std::map<std::string, std::string> sysctls;
  // IOKit
  kern_return_t matching = KERN_SUCCESS;
  std::vector<Statistics> accelerators;
  // The Objective-C runtime
  bool hasFoundation = true;
  std::set<std::string> lackedMethods;  ///< of NSProcessInfo
  long thermalState = 0;
  bool lowPower = false;
  bool refusesActivities = false;
  // dyld
  std::vector<const char*> images;  ///< a null has been unloaded meanwhile
  std::string executable;
  void (*removed)(const struct mach_header*, std::intptr_t) = nullptr;

  // What was done
  struct Activity {
    std::string reason;
    std::uint64_t options = 0;
    bool ended = false;
    int retains = 0;
  };
  std::vector<Activity> activities;
  int openPools = 0;
  int messagesOutsideOfPools = 0;
  int cfObjects = 0, ioObjects = 0;  ///< not released yet
  int hostPorts = 0;
  std::optional<int> qosClass;

  template <typename T>
  void setSysctl(const std::string& name, const T& value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    sysctls[name] = bytes;
  }
};

/// The Mac that the stand-ins ask.
Mac& mac();

}  // namespace highwater::test
