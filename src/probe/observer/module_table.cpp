#include "probe/observer/module_table.h"

#include "core/plain_text.h"
#include "probe/stream/take_definitions.h"
#include "wire/limits.h"

namespace highwater::probe {
namespace {

// Bytes that a definition takes in a frame besides its name: table, offsets, ids, length, padding.
constexpr std::size_t kModuleOverheadBytes = 48;
// The validator counts a definition with all of its path. See name_table.cpp.
constexpr std::size_t kMaxPathBytes = wire::kMaxDefinitionBytes / 3;

}  // namespace

ModuleTable::Interned ModuleTable::intern(ModuleId parent, std::string_view name) {
  if (parent == kOtherId) return {kOtherId, {}};
  name = cutText(name, wire::kMaxNameBytes);
  const std::lock_guard lock(mutex_);
  auto key = std::make_pair(parent, std::string(name));
  auto found = ids_.find(key);
  if (found == ids_.end()) {
    const std::size_t bytes = pathBytes_[parent] + name.size() + 1;
    if (next_ >= kMaxModules || allPathBytes_ + bytes > kMaxPathBytes) return {kOtherId, {}};
    pathBytes_.push_back(bytes);
    allPathBytes_ += bytes;
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
