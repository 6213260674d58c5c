#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/messages.h"

namespace highwater::probe {

/// The modules of the model: a tree of nodes, each identified by its parent and its name. Gives
/// every node an id and keeps new definitions until the sender takes them, which it does before it
/// sends an event that uses them.
class ModuleTable {
 public:
  /// The id of a module and the table's own copy of its name.
  struct Interned {
    ModuleId id = kNoId;
    std::string_view name;  ///< lives as long as the table; empty for kOtherId
  };

  /// Returns the child of `parent` named `name` (cut to kMaxNameBytes), with a new id where it is
  /// new. Returns kOtherId for a new child once there are kMaxModules, or as many bytes of paths as
  /// a stream may have, and for every child of kOtherId. Any thread; locks.
  [[nodiscard]] Interned intern(ModuleId parent, std::string_view name);

  /// Moves the definitions of new modules to the end of `out`, parents before their children: up to
  /// `maxBytes` of them in a frame, but at least one. Returns true where some are left.
  bool takeNew(Definitions& out, std::size_t maxBytes = std::numeric_limits<std::size_t>::max());

 private:
  std::mutex mutex_;
  std::map<std::pair<ModuleId, std::string>, ModuleId> ids_;
  ModuleId next_ = kOtherId + 1;
  std::vector<std::size_t> pathBytes_ = std::vector<std::size_t>(kOtherId + 1);  // by id
  std::size_t allPathBytes_ = 0;
  std::deque<ModuleDefinition> newModules_;
};

}  // namespace highwater::probe
