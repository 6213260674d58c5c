#pragma once

#include "core/names.h"
#include "core/units.h"
#include "models/qt_text.h"
#include "views/lanes/lane_kind.h"
#include "views/tr.h"

/// How the lanes put single values into words; only for the files of this folder.
namespace highwater::views {

/// Formats a duration; below a millisecond with a tenth of a microsecond, because ops are short.
inline QString opDuration(std::int64_t ns) {
  return ns < 1'000'000 ? tr("%1 µs").arg(static_cast<double>(ns) / 1e3, 0, 'f', 1)
                        : text(formatDuration(ns));
}

/// Formats a time in ns since the start of the run, to the millisecond.
inline QString atTime(std::int64_t ns) {
  return text(formatRunTime(ns));
}

/// Writes where an event happened: "step 209, forward".
inline QString inStep(std::uint32_t step, events::Phase phase) {
  return tr("step %1, %2").arg(step).arg(text(phaseName(phase)));
}

/// Appends the module path and the call site to `details`; leaves out those that are unknown.
inline void addPlace(QStringList& details, const analysis::LiveStore& store, ModuleId module,
                     CallSiteId site) {
  for (const QString& place : {text(store.modulePath(module)), text(store.callSite(site))}) {
    if (!place.isEmpty()) {
      details << place;
    }
  }
}

/// Returns the facts that sync points, fallbacks and ops share. `time` is the label of the event's
/// duration.
template <typename Event>
std::vector<EventFact> callFacts(const analysis::LiveStore& store, const Event& event,
                                 const QString& time) {
  return {{tr("Op"), text(store.name(event.op()))},
          {time, opDuration(event.duration_ns())},
          {tr("At"), atTime(event.begin_ns())},
          {tr("Step"), QString::number(event.step())},
          {tr("Phase"), text(phaseName(event.phase()))},
          {tr("Module"), text(store.modulePath(event.module_id()))},
          {tr("Thread"), text(store.threadName(event.thread()))}};
}

}  // namespace highwater::views
