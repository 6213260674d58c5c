#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "probe/observer/module_table.h"

namespace highwater::probe {

/// One thread's stack of modules, innermost last; used by that thread only. Entering a module again
/// costs neither a lock nor an allocation, for the first 3072 modules that the thread enters.
class ModuleStack {
 public:
  /// The number of nested modules that the stack tells apart.
  static constexpr std::uint32_t kMaxDepth = 64;

  /// Enters the child `name` of `parent`. `node` is the backward node that the thread runs, null
  /// outside of backward. Modules deeper than kMaxDepth count as their ancestor at that depth.
  void enter(ModuleTable& table, ModuleId parent, std::string_view name, const void* node) {
    push(find(table, parent, name), node);
  }
  /// Enters a known module; kNoId leaves all modules until leave().
  void enter(ModuleId module, const void* node) { push(module, node); }
  /// Leaves the module that was entered last. Does nothing where none was entered.
  void leave() noexcept {
    if (depth_ > 0) --depth_;
  }

  /// The innermost module; kNoId outside of all modules.
  [[nodiscard]] ModuleId current() const noexcept {
    if (depth_ == 0) return kNoId;
    return top().module;
  }
  /// The backward node in which the innermost module was entered; null for one entered outside of
  /// backward, and outside of all modules.
  [[nodiscard]] const void* node() const noexcept { return depth_ == 0 ? nullptr : top().node; }

 private:
  static constexpr std::size_t kSlots = 4096;  // a power of two
  static constexpr std::size_t kMaxUsed = kSlots / 4 * 3;

  struct Slot {
    ModuleId parent = kNoId;
    ModuleId id = kNoId;
    std::string_view name;
  };

  struct Entered {
    ModuleId module = kNoId;
    const void* node = nullptr;
  };

  void push(ModuleId module, const void* node) noexcept {
    if (depth_ < kMaxDepth) entered_[depth_] = {module, node};
    ++depth_;
  }
  [[nodiscard]] const Entered& top() const noexcept {
    return entered_[depth_ <= kMaxDepth ? depth_ - 1 : kMaxDepth - 1];
  }
  [[nodiscard]] ModuleId find(ModuleTable& table, ModuleId parent, std::string_view name);

  std::array<Entered, kMaxDepth> entered_{};
  std::uint32_t depth_ = 0;
  std::size_t used_ = 0;
  std::vector<Slot> slots_;  // allocated when the thread enters its first module
};

}  // namespace highwater::probe
