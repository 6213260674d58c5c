#pragma once

#include <string>
#include <unordered_map>

#include "core/events_generated.h"
#include "core/ids.h"
#include "core/messages.h"

namespace highwater {

/// The definitions of a run by their ids, and the words they make. Ids that were never defined are
/// "unknown": nothing that a stream says makes a lookup fail.
class DefinitionTable {
 public:
  /// The first definition of an id counts; past the caps of core/ids.h the rest is ignored.
  void add(const Definitions& definitions);

  /// "" for kNoId, "other" for kOtherId, "unknown" for what was never defined.
  [[nodiscard]] std::string name(NameId id) const;
  /// "encoder.layers.1.attn"; "" for kNoId.
  [[nodiscard]] std::string modulePath(ModuleId id) const;
  /// The innermost frame: "train.cpp:41 (trainStep)"; "" for kNoId.
  [[nodiscard]] std::string callSite(CallSiteId id) const;
  /// The same with its callers: "train.cpp:41 (trainStep) ← train.cpp:20 (train)"
  [[nodiscard]] std::string callStack(CallSiteId id) const;
  /// A marker in words: "batch 16 → 32".
  [[nodiscard]] std::string markerText(const events::Marker& marker) const;

 private:
  std::unordered_map<NameId, std::string> names_;
  std::unordered_map<ModuleId, ModuleDefinition> modules_;
  std::unordered_map<CallSiteId, CallSiteDefinition> callSites_;
};

}  // namespace highwater
