#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/units.h"

namespace highwater::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRedrawEvery{100};
constexpr milliseconds kPrintEvery{5000};
constexpr int kWidestBar = 40;
constexpr int kNarrowestBar = 8;
constexpr char kGreen[] = "\x1b[32m";
constexpr char kPlain[] = "\x1b[0m";
constexpr char kEraseLine[] = "\r\x1b[2K";

/// The fields of the line, the most important first.
std::vector<std::string> fields(const Progress& progress) {
  std::vector<std::string> parts;
  parts.push_back(progress.planned == 0
                      ? std::to_string(progress.step)
                      : std::to_string(progress.step) + '/' + std::to_string(progress.planned));
  if (progress.loss) parts.push_back("loss " + formatDecimals(*progress.loss, 3));
  if (progress.stepNs > 0) parts.push_back(formatDuration(progress.stepNs) + "/step");
  if (progress.driverBytes > 0) parts.push_back("driver " + formatBytes(progress.driverBytes));
  parts.push_back(
      formatRunTime(std::chrono::nanoseconds(progress.elapsed).count(), /*decimals=*/0));
  return parts;
}

std::string join(const std::vector<std::string>& parts) {
  std::string line;
  for (const std::string& part : parts) line += (line.empty() ? "" : "  ") + part;
  return line;
}

}  // namespace

Progress progressOf(const analysis::LiveStore& store, std::uint32_t planned, milliseconds elapsed) {
  Progress progress;
  progress.planned = planned;
  progress.elapsed = elapsed;
  const auto& steps = store.steps().records;
  if (!steps.empty()) {
    progress.step = steps.back().step();
    progress.stepNs = steps.back().duration_ns();
  }
  const auto read = std::find_if(steps.rbegin(), steps.rend(),
                                 [](const auto& step) { return step.loss_read() != 0; });
  if (read != steps.rend()) progress.loss = read->loss();
  const auto& driver = store.memory().driver;
  if (!driver.empty()) {
    progress.driverBytes = static_cast<std::uint64_t>(driver[driver.size() - 1]);
  }
  return progress;
}

std::string progressText(const Progress& progress) {
  return join(fields(progress));
}

std::string progressBar(const Progress& progress, int columns, bool color) {
  std::vector<std::string> parts = fields(progress);
  // The last column stays empty: some terminals wrap when it is written.
  const auto room = static_cast<std::size_t>(std::max(columns - 1, 1));
  const std::size_t frame = 3;  // "[", "]", " "
  const bool hasBar = progress.planned > 0 && room >= kNarrowestBar + frame + parts[0].size();
  const std::size_t reserved = hasBar ? kNarrowestBar + frame : 0;
  while (parts.size() > 1 && join(parts).size() + reserved > room) parts.pop_back();
  const std::string text = join(parts);
  if (!hasBar) return text.substr(0, room);
  const std::size_t width = std::min<std::size_t>(room - frame - text.size(), kWidestBar);
  const double share = std::clamp(static_cast<double>(progress.step) / progress.planned, 0.0, 1.0);
  const auto done = static_cast<std::size_t>(std::floor(share * static_cast<double>(width)));
  const std::string filled(done, '#');
  return '[' + (color ? kGreen + filled + kPlain : filled) + std::string(width - done, '.') + "] " +
         text;
}

void ProgressPrinter::show(const Progress& progress) {
  const milliseconds since = shownAt_ ? progress.elapsed - *shownAt_ : milliseconds::max();
  const bool last = progress.planned != 0 && progress.step >= progress.planned;
  if (terminal_.interactive) {
    if (since < kRedrawEvery && !last) return;
    print(kEraseLine + progressBar(progress, terminal_.columns, terminal_.color));
    lineIsOpen_ = true;
  } else {
    const std::uint32_t tenth = std::max(progress.planned / 10, 1u);
    const bool reached = progress.planned != 0 && progress.step / tenth > shownStep_ / tenth;
    if (progress.step == shownStep_ || (!reached && since < kPrintEvery)) return;
    print("step " + progressText(progress) + '\n');
  }
  shownAt_ = progress.elapsed;
  shownStep_ = progress.step;
}

void ProgressPrinter::finish() {
  if (lineIsOpen_) print("\n");
  lineIsOpen_ = false;
}

}  // namespace highwater::cli
