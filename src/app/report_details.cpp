#include "app/report_details.h"

#include <QJsonArray>
#include <cmath>

#include "analysis/device_path.h"
#include "app/terminal.h"
#include "core/units.h"

namespace highwater::app {
namespace {

using analysis::LiveStore;
using analysis::PathKind;
using analysis::PathSummary;

constexpr std::size_t kMostOtherPaths = 3;

QJsonValue text(const std::string& value) {
  return QString::fromStdString(value);
}

QJsonValue integer(std::uint64_t value) {
  return static_cast<qint64>(value);
}

/// "4", or "1.5" for the median of an even number of steps.
std::string countText(double count) {
  const auto tenths = std::lround(count * 10);
  const std::string whole = std::to_string(tenths / 10);
  return tenths % 10 == 0 ? whole : whole + '.' + std::to_string(tenths % 10);
}

QJsonObject pathJson(const PathSummary& paths) {
  QJsonArray chains, steps;
  for (const PathKind& kind : paths.kinds) {
    chains.append(QJsonObject{{"chain", text(kind.chain)},
                              {"changes", integer(kind.changes)},
                              {"deliberate", integer(kind.deliberate)},
                              {"steps", integer(kind.steps)},
                              {"first_step", integer(kind.firstStep)}});
  }
  for (const analysis::StepPath& step : paths.steps) {
    steps.append(QJsonObject{{"step", integer(step.step)},
                             {"changes", integer(step.changes)},
                             {"deliberate", integer(step.deliberate)}});
  }
  return {{"changes_p50", paths.changesP50},
          {"deliberate_p50", paths.deliberateP50},
          {"unplanned_p50", paths.unplannedP50},
          {"chains", chains},
          {"steps", steps}};
}

std::string changesText(const PathKind& kind) {
  return std::to_string(kind.changes) + (kind.changes == 1 ? " change, " : " changes, ") +
         std::to_string(kind.deliberate) + " deliberate";
}

void addPathLines(const LiveStore& store, TextTable& head) {
  const PathSummary paths = analysis::summarizePaths(store);
  if (paths.steps.empty()) return;
  head.add({"Switches", "a step: " + countText(paths.changesP50) + " changes of backend, " +
                            countText(paths.deliberateP50) + " of them deliberate (medians of " +
                            std::to_string(paths.steps.size()) + " steps)"});
  std::size_t shown = 0, others = 0;
  for (const PathKind& kind : paths.kinds) {
    if (shown > kMostOtherPaths) {
      others += kind.steps;
      continue;
    }
    head.add({shown++ == 0 ? "Path" : "", plain(kind.chain) + " (" + changesText(kind) + "; " +
                                              std::to_string(kind.steps) + " steps)"});
  }
  if (others > 0) head.add({"", "and others, " + std::to_string(others) + " steps"});
}

}  // namespace

void addDetails(const LiveStore& store, QJsonObject& report) {
  report["device_path"] =
      store.hasQueue() ? QJsonValue(pathJson(analysis::summarizePaths(store))) : QJsonValue();
}

void addDetailLines(const LiveStore& store, TextTable& head) {
  addPathLines(store, head);
}

}  // namespace highwater::app
