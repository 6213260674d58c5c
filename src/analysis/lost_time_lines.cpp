#include "analysis/lost_time_lines.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/named_phases.h"
#include "core/names.h"

namespace highwater::analysis {
namespace {

/// An event's ids, as far as they tell rows apart: op, kind, planned, phase, named phase, module,
/// call site.
using Ids = std::tuple<NameId, events::SyncKind, bool, events::Phase, NameId, ModuleId, CallSiteId>;

struct LineSums {
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::uint64_t bytes = 0;
};

/// The named phase around an event that is in no phase of a step; kNoId if there is none.
template <typename Event>
NameId namedPhaseOf(const LiveStore& store, const Event& event) {
  if (event.phase() != events::Phase::None) return kNoId;
  const events::NamedSpan* span = namedSpanAt(store, event.begin_ns());
  return span ? span->name() : kNoId;
}

class Rows {
 public:
  explicit Rows(const LiveStore& store) : store_(store) {}

  template <typename Event>
  void add(const Event& event, events::SyncKind kind, bool deliberate, std::uint64_t bytes) {
    LineSums& sums = byIds_[{event.op(), kind, deliberate, event.phase(),
                             namedPhaseOf(store_, event), event.module_id(), event.call_site()}];
    ++sums.count;
    sums.totalNs += event.duration_ns();
    sums.bytes += bytes;
  }

  /// A line has several ids where its callers differ, so rows are merged by their texts.
  [[nodiscard]] std::vector<LineTotal> sorted() const {
    std::map<std::tuple<std::string, std::string, std::string, events::SyncKind, bool>, LineTotal>
        byText;
    for (const auto& [ids, sums] : byIds_) {
      LineTotal row = rowOf(ids);
      LineTotal& total =
          byText.try_emplace({row.op, row.where, row.callSite, row.kind, row.deliberate}, row)
              .first->second;
      total.count += sums.count;
      total.totalNs += sums.totalNs;
      total.bytes += sums.bytes;
    }
    std::vector<LineTotal> rows;
    rows.reserve(byText.size());
    for (auto& [key, total] : byText) rows.push_back(std::move(total));
    std::stable_sort(rows.begin(), rows.end(),
                     [](const LineTotal& a, const LineTotal& b) { return a.totalNs > b.totalNs; });
    return rows;
  }

 private:
  [[nodiscard]] LineTotal rowOf(const Ids& ids) const {
    const auto& [op, kind, deliberate, phase, named, module, site] = ids;
    LineTotal row;
    row.op = store_.name(op);
    row.where = named == kNoId ? std::string(phaseName(phase)) : store_.name(named);
    if (const std::string path = store_.modulePath(module); !path.empty()) row.where += ", " + path;
    row.site = store_.callSiteParts(site);
    row.callSite = store_.callSite(site);
    row.kind = kind;
    row.deliberate = deliberate;
    return row;
  }

  const LiveStore& store_;
  std::map<Ids, LineSums> byIds_;
};

}  // namespace

LostTimeLines summarizeLines(const LiveStore& store) {
  Rows waits(store), fallbacks(store);
  for (const events::SyncPoint& each : store.syncPoints()) {
    waits.add(each, each.kind(), each.deliberate() != 0, each.bytes());
  }
  for (const events::FallbackEvent& each : store.fallbacks()) {
    fallbacks.add(each, events::SyncKind::None, false,
                  each.bytes_to_cpu() + each.bytes_to_device());
  }
  return {waits.sorted(), fallbacks.sorted()};
}

}  // namespace highwater::analysis
