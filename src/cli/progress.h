#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/live_store.h"
#include "cli/terminal.h"

namespace highwater::cli {

/// How far a run has got: what the progress line shows.
struct Progress {
  std::uint32_t step = 0;
  std::uint32_t planned = 0;      ///< steps in all; 0: until stopped
  std::optional<double> loss;     ///< the last one read
  std::int64_t stepNs = 0;        ///< duration of the last step; 0: not known
  std::uint64_t driverBytes = 0;  ///< driver allocated; 0: not known
  std::chrono::milliseconds elapsed{0};
};

/// Collects the progress of the run in `store`. `planned` is the number of steps in all, 0 if the
/// run goes on until it is stopped.
[[nodiscard]] Progress progressOf(const analysis::LiveStore& store, std::uint32_t planned,
                                  std::chrono::milliseconds elapsed);

/// The progress as one line for a terminal: "[####....] 30/60  loss 0.812  21.3 ms/step  driver
/// 564.0 MiB  0:03", shorter than `columns`. If there is not enough room, the bar shrinks first,
/// then fields are left out from the right. No bar if `planned` is 0.
[[nodiscard]] std::string progressBar(const Progress& progress, int columns, bool color);
/// The progress as text without a bar, of any length: "30/60  loss 0.812  21.3 ms/step ...".
[[nodiscard]] std::string progressText(const Progress& progress);

/// Prints the progress of a run: on a terminal one line that is redrawn, elsewhere a new line for
/// every tenth of the run, or every 5 s.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(Terminal terminal) : terminal_(terminal) {}

  /// Prints `progress`, unless the last output was too recent.
  void show(const Progress& progress);
  /// Ends the redrawn line, so that the next output starts below it.
  void finish();

 private:
  Terminal terminal_;
  std::optional<std::chrono::milliseconds> shownAt_;
  std::uint32_t shownStep_ = 0;
  bool lineIsOpen_ = false;
};

}  // namespace highwater::cli
