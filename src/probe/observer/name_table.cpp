#include "probe/observer/name_table.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

#include "core/plain_text.h"
#include "probe/stream/take_definitions.h"
#include "wire/limits.h"

namespace highwater::probe {
namespace {

// Bytes that a name takes in a frame besides its text: table, offsets, length, padding.
constexpr std::size_t kNameOverheadBytes = 32;
// A third of wire::kMaxDefinitionBytes: modules and call sites need the rest.
constexpr std::size_t kMaxTextBytesOfNames = wire::kMaxDefinitionBytes / 3;

}  // namespace

NameTable::Interned NameTable::intern(std::string_view text) {
  return internBelow(text, kMaxNames);
}

NameId NameTable::internBulk(std::string_view text) {
  return internBelow(text, kMaxBulkNames).id;
}

NameTable::Interned NameTable::internBelow(std::string_view text, NameId cap) {
  if (text.empty()) return {};
  text = cutText(text, wire::kMaxTextBytes);
  const std::lock_guard lock(mutex_);
  if (const auto found = ids_.find(text); found != ids_.end()) return {found->second, found->first};
  const Interned added = add(text, kNoId, cap);
  if (!added.text.empty()) ids_.emplace(added.text, added.id);
  return added;
}

NameId NameTable::internAt(std::string_view text, CallSiteId callSite) {
  if (text.empty() || callSite == kNoId) return internBulk(text);
  const std::pair key(std::string(cutText(text, wire::kMaxTextBytes)), callSite);
  const std::lock_guard lock(mutex_);
  if (const auto found = idsAt_.find(key); found != idsAt_.end()) return found->second;
  const Interned added = add(key.first, callSite, kMaxBulkNames);
  if (!added.text.empty()) idsAt_.emplace(key, added.id);
  return added.id;
}

NameTable::Interned NameTable::add(std::string_view text, CallSiteId callSite, NameId cap) {
  if (nextName_ >= cap || textBytes_ + text.size() > kMaxTextBytesOfNames) return {kOtherId, ""};
  textBytes_ += text.size();
  const std::string_view kept = texts_.emplace_back(text);
  const NameId id = nextName_++;
  newNames_.push_back({id, std::string(kept), callSite});
  return {id, kept};
}

ThreadId NameTable::addThread(std::string name) {
  const std::lock_guard lock(mutex_);
  if (nextThread_ >= kMaxThreads) return 0;
  const ThreadId id = nextThread_++;
  newThreads_.push_back({id, std::move(name)});
  return id;
}

bool NameTable::takeNew(Definitions& out, std::size_t maxBytes) {
  const std::lock_guard lock(mutex_);
  std::move(newThreads_.begin(), newThreads_.end(), std::back_inserter(out.threads));
  newThreads_.clear();
  return takeDefinitions(newNames_, out.names, maxBytes, [](const NameDefinition& each) {
    return each.text.size() + kNameOverheadBytes;
  });
}

NameCache::NameCache(NameTable& table, Classify classify) : table_(table), classify_(classify) {}

NameCache::Entry& NameCache::find(std::string_view text) {
  std::size_t slot = std::hash<std::string_view>{}(text) % kSlots;
  while (slots_[slot].id != kNoId) {
    if (slots_[slot].text == text) return slots_[slot];
    slot = (slot + 1) % kSlots;
  }
  const NameTable::Interned interned = table_.intern(text);
  // Not cached once the cache is full, nor for names past the table's cap.
  const bool keeps = used_ < kMaxUsed && !interned.text.empty();
  if (keeps) ++used_;
  Entry& entry = keeps ? slots_[slot] : transient_;
  entry = {interned.text, interned.id, classify_(text)};
  return entry;
}

}  // namespace highwater::probe
