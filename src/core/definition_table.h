#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/events_generated.h"
#include "core/ids.h"
#include "core/messages.h"

namespace highwater {

/// What stands between the name of the user's function and the library's line that it called, in
/// the function of a CallSiteDefinition: "main, in transformers/trainer.py:1911 Trainer.train".
inline constexpr std::string_view kInLibrary = ", in ";

/// A call site in parts. Each is empty where it is unknown.
struct CallSiteParts {
  std::string line;       ///< file and line of the user's code: "train.py:41"
  std::string function;   ///< the user's function that the line is in: "main"
  std::string library;    ///< the line of a library that it called: "transformers/trainer.py:1911
                          ///< Trainer.train"; empty where the wait is in the user's own line
  std::string path = {};  ///< of the file, as the program that was measured knows it
  std::uint32_t number = 0;  ///< of the line in that file; 0 where it is unknown
  std::string text = {};     ///< the line itself, without its indentation; empty where unknown
};

/// Turns the ids that events use (core/ids.h) into texts, by the definitions that a run has sent.
/// No lookup fails: the text of an id that was never defined is "unknown", that of kNoId is empty
/// and that of kOtherId is "other".
class DefinitionTable {
 public:
  /// Adds definitions. Ignores ids that it has already, and definitions beyond the limits of
  /// core/ids.h.
  void add(const Definitions& definitions);

  /// Adds a text of the host, such as a note's, and returns the id that it gets: one that no
  /// definition can have.
  [[nodiscard]] NameId addOwnText(std::string text);

  /// The defined modules, sorted by id.
  [[nodiscard]] std::vector<ModuleId> moduleIds() const;
  /// The defined call sites, sorted by id.
  [[nodiscard]] std::vector<CallSiteId> callSiteIds() const;

  /// The number of defined modules, and of defined call sites.
  [[nodiscard]] std::size_t moduleCount() const { return modules_.size(); }
  [[nodiscard]] std::size_t callSiteCount() const { return callSites_.size(); }

  /// The text of a name, for example of an op: "aten::mm". "unknown" for an undefined id. Empty for
  /// kNoId, "other" for kOtherId.
  [[nodiscard]] std::string name(NameId id) const;
  /// Where the spans of a name begin; kNoId where it is unknown.
  [[nodiscard]] CallSiteId callSiteOfName(NameId id) const;
  /// The path of a module from the model's root: "encoder.layers.1.attn". Parts that were not
  /// defined are "unknown".
  [[nodiscard]] std::string modulePath(ModuleId id) const;
  /// The source line of a call site, without its callers: "train.cpp:41 (trainStep)". "unknown" for
  /// an undefined id.
  [[nodiscard]] std::string callSite(CallSiteId id) const;
  /// The same in parts.
  [[nodiscard]] CallSiteParts callSiteParts(CallSiteId id) const;
  /// The source line of a call site with at most eight callers: "train.cpp:41 (trainStep) ←
  /// train.cpp:20 (train)"
  [[nodiscard]] std::string callStack(CallSiteId id) const;
  /// The label that users see for a marker, which is a change or incident in the timeline:
  /// "batch 16 → 32".
  [[nodiscard]] std::string markerText(const events::Marker& marker) const;

 private:
  std::unordered_map<NameId, NameDefinition> names_;
  std::vector<std::string> ownTexts_;  ///< from id kMaxNames on
  std::unordered_map<ModuleId, ModuleDefinition> modules_;
  std::unordered_map<CallSiteId, CallSiteDefinition> callSites_;
};

}  // namespace highwater
