#include "core/definition_table.h"

#include <algorithm>

#include "core/knobs.h"
#include "core/names.h"
#include "core/paths.h"

namespace highwater {
namespace {

/// Stops loops of parents; real models are not that deep.
constexpr int kMaxModuleDepth = 64;
// Nobody reads a longer chain.
constexpr int kMaxCallers = 8;

std::string changeText(const events::Marker& marker) {
  const Knob* knob = knobOf(marker.kind());
  return knob ? knobChangeText(*knob, marker.value_before(), marker.value_after()) : std::string();
}

/// "train.py:41"; the file alone where the line is unknown.
std::string lineOf(const CallSiteDefinition& site) {
  std::string text(fileNameOf(site.file));
  if (!text.empty() && site.line != 0) text += ':' + std::to_string(site.line);
  return text;
}

template <typename Definitions>
auto sortedIds(const Definitions& definitions) {
  std::vector<std::uint32_t> ids;
  ids.reserve(definitions.size());
  for (const auto& [id, definition] : definitions) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::string withDetail(const std::string& what, const std::string& detail) {
  return detail.empty() ? what : what + ": " + detail;
}

}  // namespace

void DefinitionTable::add(const Definitions& definitions) {
  for (const auto& definition : definitions.names) {
    if (names_.size() < kMaxNames) names_.try_emplace(definition.id, definition);
  }
  for (const auto& definition : definitions.modules) {
    if (modules_.size() < kMaxModules) modules_.try_emplace(definition.id, definition);
  }
  for (const auto& definition : definitions.callSites) {
    if (callSites_.size() < kMaxCallSites) callSites_.try_emplace(definition.id, definition);
  }
}

NameId DefinitionTable::addOwnText(std::string text) {
  ownTexts_.push_back(std::move(text));
  return kMaxNames + static_cast<NameId>(ownTexts_.size() - 1);
}

std::vector<ModuleId> DefinitionTable::moduleIds() const {
  return sortedIds(modules_);
}

std::vector<CallSiteId> DefinitionTable::callSiteIds() const {
  return sortedIds(callSites_);
}

std::string DefinitionTable::name(NameId id) const {
  if (id == kNoId) return {};
  if (id == kOtherId) return "other";
  if (id >= kMaxNames) {
    return id - kMaxNames < ownTexts_.size() ? ownTexts_[id - kMaxNames] : "unknown";
  }
  const auto found = names_.find(id);
  return found == names_.end() ? "unknown" : found->second.text;
}

CallSiteId DefinitionTable::callSiteOfName(NameId id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? kNoId : found->second.callSite;
}

std::string DefinitionTable::modulePath(ModuleId id) const {
  if (id == kNoId) return {};
  if (id == kOtherId) return "other";
  std::string path;
  for (int depth = 0; depth < kMaxModuleDepth && id != kNoId; ++depth) {
    const auto found = modules_.find(id);
    const std::string part = found == modules_.end() ? "unknown" : found->second.name;
    // A model's root has an empty name.
    if (!part.empty()) path = path.empty() ? part : part + '.' + path;
    if (found == modules_.end()) break;
    id = found->second.parent;
  }
  return path;
}

CallSiteParts DefinitionTable::callSiteParts(CallSiteId id) const {
  const auto found = callSites_.find(id);
  if (found == callSites_.end()) return {};
  const CallSiteDefinition& site = found->second;
  CallSiteParts parts{lineOf(site), site.function, {}, site.file, site.line, site.text};
  if (const auto at = parts.function.find(kInLibrary); at != std::string::npos) {
    parts.library = parts.function.substr(at + kInLibrary.size());
    parts.function.resize(at);
  }
  return parts;
}

std::string DefinitionTable::callSite(CallSiteId id) const {
  if (id == kNoId) return {};
  if (id == kOtherId) return "other";
  const auto found = callSites_.find(id);
  if (found == callSites_.end()) return "unknown";
  const CallSiteDefinition& site = found->second;
  const std::string text = lineOf(site);
  if (site.function.empty()) return text;
  return text.empty() ? site.function : text + " (" + site.function + ')';
}

std::string DefinitionTable::callStack(CallSiteId id) const {
  std::string text = callSite(id);
  for (int i = 0; i < kMaxCallers; ++i) {
    const auto found = callSites_.find(id);
    if (found == callSites_.end() || found->second.parent == kNoId) break;
    id = found->second.parent;
    text += " \u2190 " + callSite(id);
  }
  return text;
}

std::string DefinitionTable::markerText(const events::Marker& marker) const {
  const std::string detail = name(marker.text());
  switch (marker.kind()) {
    case events::MarkerKind::None:
      break;
    case events::MarkerKind::BatchSize:
    case events::MarkerKind::SequenceLength:
    case events::MarkerKind::LossInterval:
    case events::MarkerKind::LearningRate:
    case events::MarkerKind::Accumulation:
    case events::MarkerKind::Precision:
    case events::MarkerKind::MemoryFraction:
    case events::MarkerKind::KeepEffectiveBatch:
    case events::MarkerKind::OutOfMemoryPolicy:
      return changeText(marker);
    case events::MarkerKind::CacheEmptied:
      return withDetail("cache emptied", detail);
    case events::MarkerKind::OutOfMemory:
      return withDetail("out of memory", detail);
    case events::MarkerKind::Recovered:
      return withDetail("recovered", detail);
    case events::MarkerKind::Paused:
      return "paused";
    case events::MarkerKind::Resumed:
      return "resumed";
    case events::MarkerKind::ProbeLevel: {
      const auto level = static_cast<events::ProbeLevel>(static_cast<int>(marker.value_after()));
      switch (level) {
        case events::ProbeLevel::Ops:
          return "op recording on";
        case events::ProbeLevel::Monitor:
          return "op recording off";
        case events::ProbeLevel::Off:
          return "only steps and memory recorded";
        default:
          return "recording level " + std::string(probeLevelKey(level));
      }
    }
    case events::MarkerKind::Note:
      return detail.empty() ? "note" : detail;
  }
  return withDetail("marker", detail);
}

}  // namespace highwater
