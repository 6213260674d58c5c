#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/live_store.h"
#include "app/terminal.h"

namespace highwater::app {

/// Where a run is, for one line.
struct Progress {
  std::uint32_t step = 0;
  std::uint32_t planned = 0;
  std::optional<double> loss;
  std::int64_t stepNs = 0;
  std::uint64_t driverBytes = 0;
  std::chrono::milliseconds elapsed{0};
};

[[nodiscard]] Progress progressOf(const analysis::LiveStore& store, std::uint32_t planned,
                                  std::chrono::milliseconds elapsed);

/// "[####....] 30/60  loss 0.812  21.3 ms/step  driver 564.0 MiB  0:03", no wider than `columns`:
/// what does not fit is left out from the right, the bar first shrinks.
[[nodiscard]] std::string progressBar(const Progress& progress, int columns, bool color);
/// The same without a bar.
[[nodiscard]] std::string progressText(const Progress& progress);

/// Shows a run's progress: on a terminal one line that is redrawn, elsewhere a line every tenth of
/// the run, or after 5 s.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(Terminal terminal) : terminal_(terminal) {}

  void show(const Progress& progress);
  /// Ends the redrawn line: what is printed next stands below it.
  void finish();

 private:
  Terminal terminal_;
  std::optional<std::chrono::milliseconds> shownAt_;
  std::uint32_t shownStep_ = 0;
  bool lineIsOpen_ = false;
};

}  // namespace highwater::app
