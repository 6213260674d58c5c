#include "probe/observer/module_stack.h"

#include <functional>

#include "core/plain_text.h"
#include "wire/limits.h"

namespace highwater::probe {
namespace {

constexpr std::size_t kGoldenRatio = 0x9E3779B97F4A7C15u;

}  // namespace

ModuleId ModuleStack::find(ModuleTable& table, ModuleId parent, std::string_view name) {
  name = cutText(name, wire::kMaxNameBytes);  // as the table keeps it
  if (slots_.empty()) slots_.resize(kSlots);
  std::size_t slot = (std::hash<std::string_view>{}(name) ^ (parent * kGoldenRatio)) % kSlots;
  while (slots_[slot].id != kNoId) {
    if (slots_[slot].parent == parent && slots_[slot].name == name) return slots_[slot].id;
    slot = (slot + 1) % kSlots;
  }
  const ModuleTable::Interned interned = table.intern(parent, name);
  // Not cached once the cache is full, nor for modules past the table's cap.
  if (used_ < kMaxUsed && interned.id != kOtherId) {
    slots_[slot] = {parent, interned.id, interned.name};
    ++used_;
  }
  return interned.id;
}

}  // namespace highwater::probe
