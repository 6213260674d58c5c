#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "probe/module_table.h"

namespace highwater::probe {

/// The modules that one thread is in, innermost last. Only that thread uses it. A module that the
/// thread entered before costs neither a lock nor an allocation.
class ModuleStack {
 public:
  static constexpr std::uint32_t kMaxDepth = 64;

  /// Goes into the child `name` of the innermost module. What is deeper than kMaxDepth counts as
  /// its parent.
  void enter(ModuleTable& table, std::string_view name) { push(find(table, name)); }
  /// Goes into a module that is known already; kNoId: out of all modules until leave().
  void enter(ModuleId module) { push(module); }
  void leave() noexcept {
    if (depth_ > 0) --depth_;
  }

  [[nodiscard]] ModuleId current() const noexcept {
    if (depth_ == 0) return kNoId;
    return modules_[depth_ <= kMaxDepth ? depth_ - 1 : kMaxDepth - 1];
  }

 private:
  static constexpr std::size_t kSlots = 4096;  // a power of two
  static constexpr std::size_t kMaxUsed = kSlots / 4 * 3;

  struct Slot {
    ModuleId parent = kNoId;
    ModuleId id = kNoId;
    std::string_view name;
  };

  void push(ModuleId module) noexcept {
    if (depth_ < kMaxDepth) modules_[depth_] = module;
    ++depth_;
  }
  [[nodiscard]] ModuleId find(ModuleTable& table, std::string_view name);

  std::array<ModuleId, kMaxDepth> modules_{};
  std::uint32_t depth_ = 0;
  std::size_t used_ = 0;
  std::vector<Slot> slots_;  // empty on a thread that enters no module
};

}  // namespace highwater::probe
