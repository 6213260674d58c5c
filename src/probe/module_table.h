#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "core/ids.h"
#include "core/messages.h"

namespace highwater::probe {

/// The modules of the model as a tree whose nodes are interned by parent and name. The sender takes
/// what is new before it sends an event that uses it.
class ModuleTable {
 public:
  struct Interned {
    ModuleId id = kNoId;
    std::string_view name;  ///< lives as long as the table; empty where it is not kept
  };

  /// The id of the child `name` (cut to kMaxNameBytes) of `parent`; kOtherId once kMaxModules is
  /// reached and below "other". Any thread.
  [[nodiscard]] Interned intern(ModuleId parent, std::string_view name);

  /// Moves what was defined since the last call to the end of `out`, parents before their children,
  /// no more than `maxBytes` of names but at least one. True where some are left.
  bool takeNew(Definitions& out, std::size_t maxBytes = std::numeric_limits<std::size_t>::max());

 private:
  std::mutex mutex_;
  std::map<std::pair<ModuleId, std::string>, ModuleId> ids_;
  ModuleId next_ = kOtherId + 1;
  std::deque<ModuleDefinition> newModules_;
};

}  // namespace highwater::probe
