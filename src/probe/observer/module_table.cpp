#include "probe/observer/module_table.h"

#include "probe/stream/take_definitions.h"
#include "wire/limits.h"

namespace highwater::probe {
namespace {

// Bytes that a definition takes in a frame besides its name: table, offsets, ids, length, padding.
constexpr std::size_t kModuleOverheadBytes = 48;

}  // namespace

ModuleTable::Interned ModuleTable::intern(ModuleId parent, std::string_view name) {
  if (parent == kOtherId) return {kOtherId, {}};
  name = name.substr(0, wire::kMaxNameBytes);
  const std::lock_guard lock(mutex_);
  auto key = std::make_pair(parent, std::string(name));
  auto found = ids_.find(key);
  if (found == ids_.end()) {
    if (next_ >= kMaxModules) return {kOtherId, {}};
    newModules_.push_back({next_, parent, key.second});
    found = ids_.emplace(std::move(key), next_++).first;
  }
  return {found->second, found->first.second};
}

bool ModuleTable::takeNew(Definitions& out, std::size_t maxBytes) {
  const std::lock_guard lock(mutex_);
  return takeDefinitions(newModules_, out.modules, maxBytes, [](const ModuleDefinition& each) {
    return each.name.size() + kModuleOverheadBytes;
  });
}

}  // namespace highwater::probe
