#pragma once

#include <chrono>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probe/call_sites/symbolizer.h"

namespace highwater::probe {

/// Symbolizes with `atos`, which Apple's command line tools bring (man page atos(1)). It knows
/// functions that a library does not export and, where the object files of a build or a .dSYM
/// exist, inlined functions, file and line. A start of `atos` reads all symbols of a library, so
/// only prepare() starts it, with many addresses at once.
///
/// Where `atos` knows nothing or was not asked, the dynamic linker answers (placesByLinker()). A
/// library for which `atos` fails is not asked for again; if it cannot be started or takes too
/// long, nothing is.
class AtosSymbolizer : public Symbolizer {
 public:
  /// How long one start of `atos` may take: the user's program may be as large as libtorch.
  static constexpr std::chrono::milliseconds kLimit{10'000};

  /// `tool`: the path of `atos`; empty where there is none.
  explicit AtosSymbolizer(std::string tool, std::chrono::milliseconds limit = kLimit)
      : tool_(std::move(tool)), limit_(limit) {}

  void prepare(std::span<const void* const> returnAddresses, const IsStopped& isStopped) override;
  std::vector<SourcePlace> placesOf(const void* returnAddress) override;

 private:
  using Addresses = std::vector<const void*>;

  enum class Answer { kRead, kUnreadable, kNone, kStopped };

  void askFor(const void* base, const std::string& library, const Addresses& returnAddresses,
              const IsStopped& isStopped);
  [[nodiscard]] Answer ask(const void* base, const std::string& library,
                           const Addresses& returnAddresses, bool inlined,
                           const IsStopped& isStopped);

  std::string tool_;
  std::chrono::milliseconds limit_;
  // What prepare() read, until placesOf() is asked for it.
  std::uint64_t unloaded_ = 0;  // when the members below were filled
  std::map<const void*, std::vector<SourcePlace>> known_;
  std::set<const void*> failed_;  // bases of libraries
};

/// Reads one line of `atos`: "item() const (in libtorch.dylib) (Tensor.h:123)", or "main (in
/// program) + 44" without line tables. A line of several inlined functions, the innermost first,
/// has kAtosDelimiter between them. Returns none for a line that names no function.
[[nodiscard]] std::vector<SourcePlace> placesFromAtos(std::string_view line);

/// What AtosSymbolizer has `atos` print between inlined functions.
inline constexpr char kAtosDelimiter = '\t';

/// Returns the path of `atos` in the developer tools that are selected (xcode-select) or in their
/// usual folders; empty where it is in none. Never names /usr/bin/atos: without the tools that is a
/// stub that opens a dialog. `root` stands for "/" (tests).
[[nodiscard]] std::string findAtos(const std::string& root = "");

}  // namespace highwater::probe
