#include "models/search_model.h"

#include <algorithm>

#include "core/names.h"
#include "core/units.h"
#include "models/op_totals_model.h"
#include "models/qt_text.h"

namespace highwater::models {

using analysis::FoundEvent;
using analysis::SearchMatch;

namespace {

constexpr std::uint8_t bitOf(SearchModel::Place place) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(place));
}

/// The order of hits at one time, which is that of hits().
bool isEarlier(const SearchModel::Hit& a, const SearchModel::Hit& b) {
  return a.timeNs < b.timeNs;
}

QString stepsText(std::uint32_t first, std::uint32_t last) {
  if (first == 0) return kNoValue;
  return first == last ? SearchModel::tr("step %1").arg(first)
                       : SearchModel::tr("steps %1–%2").arg(first).arg(last);
}

}  // namespace

SearchModel::SearchModel(const analysis::LiveStore* store, const LogModel* log, QObject* parent)
    : ColumnModel(parent), store_(store), log_(log), search_(store) {
  const auto shown = [](const Row& row) { return row.text; };
  setColumns(Columns{
      {.head = tr("Match"), .text = shown, .cellTip = shown},
      {.head = tr("Found in"), .text = [this](auto& row) { return foundIn(row); }},
      {.head = tr("Hits"),
       .text = [](auto& row) { return QString::number(row.match.hits()); },
       .number = [](auto& row) { return double(row.match.hits()); }},
      {.head = tr("Where"),
       .text = [this](auto& row) { return where(row); },
       .number =
           [](auto& row) { return double(row.match.events > 0 ? row.match.first.timeNs : -1); },
       .isText = true},
  });
  goOn_.setSingleShot(true);
  goOn_.setInterval(0);
  connect(&goOn_, &QTimer::timeout, this, &SearchModel::refresh);
}

bool SearchModel::isWanted(const QString& name) const {
  return name.contains(text_, Qt::CaseInsensitive);
}

void SearchModel::setText(const QString& text) {
  if (text == text_) return;
  text_ = text;
  startOver();
}

void SearchModel::startOver() {
  search_.start(text_.isEmpty()
                    ? analysis::StoreSearch::Predicate()
                    : [this](const std::string& name) { return isWanted(highwater::text(name)); });
  current_.reset();
  resetRows({});
  find();
  emit currentChanged();
}

void SearchModel::refresh() {
  if (!text_.isEmpty()) find();
}

void SearchModel::find() {
  search_.update(mostAtOnce_);
  showRows();
  filterHits();
  emit changed();
  // The rest after what the user does meanwhile: millions of events must not stop the window.
  search_.complete() ? goOn_.stop() : goOn_.start();
}

void SearchModel::setShown(Place place, bool shown) {
  bool& is = shown_[static_cast<std::size_t>(place)];
  if (is == shown) return;
  is = shown;
  allShown_ = std::all_of(shown_.begin(), shown_.end(), [](bool each) { return each; });
  showRows();
  filterHits();
  emit changed();
}

void SearchModel::filterHits() {
  some_.clear();
  some_.shrink_to_fit();
  if (allShown_) return;
  std::uint8_t places = 0;
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    if (shown_[i]) places = static_cast<std::uint8_t>(places | bitOf(static_cast<Place>(i)));
  }
  for (const Hit& hit : search_.hits()) {
    if (hit.places & places) some_.push_back(hit);
  }
}

SearchRow SearchModel::rowOf(const SearchMatch& match) const {
  Row row;
  row.place = match.place;
  row.match = match;
  row.text = highwater::text(match.text);
  if (match.place == Place::kOps) {
    // Without its namespace, unless the found part is in that.
    const QString own = shortOpName(match.text);
    if (isWanted(own)) row.text = own;
  }
  row.foundAt = static_cast<int>(row.text.indexOf(text_, 0, Qt::CaseInsensitive));
  return row;
}

void SearchModel::findLogLines(std::vector<Row>& rows) {
  std::uint64_t& count = counts_[static_cast<std::size_t>(Place::kLog)];
  for (int line = 0; line < log_->rowCount(); ++line) {
    const QModelIndex at = log_->index(line);
    // Markers are found as such.
    if (at.data(LogModel::kKindRole).toInt() == static_cast<int>(LogModel::Kind::kMarker)) continue;
    Row row;
    row.place = Place::kLog;
    row.text = at.data().toString();
    row.foundAt = static_cast<int>(row.text.indexOf(text_, 0, Qt::CaseInsensitive));
    if (row.foundAt < 0) continue;
    row.log = line;
    ++count;
    rows.push_back(std::move(row));
  }
}

void SearchModel::showRows() {
  counts_.fill(0);
  std::vector<Row> rows;
  if (!text_.isEmpty()) {
    for (const SearchMatch& match : search_.matches()) {
      if (match.hits() == 0) continue;  // the store has dropped its ops
      counts_[static_cast<std::size_t>(match.place)] += match.hits();
      rows.push_back(rowOf(match));
    }
    findLogLines(rows);
  }
  std::erase_if(rows, [this](const Row& row) { return !isShown(row.place); });
  // The log stays in its order, and so do markers.
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (a.place != b.place) return a.place < b.place;
    const auto hits = [](const Row& row) {
      const bool ordered = row.place == Place::kLog || row.place == Place::kMarkers;
      return ordered ? 0 : row.match.events;
    };
    return hits(a) > hits(b);
  });
  replaceRows(std::move(rows), [](const Row& row) {
    const std::uint64_t id =
        row.place == Place::kLog ? static_cast<std::uint64_t>(row.log) : row.match.id;
    const auto event = row.place == Place::kOps ? static_cast<std::uint64_t>(row.match.event) : 0;
    return (static_cast<std::uint64_t>(row.place) << 48) | (event << 40) | id;
  });
}

std::uint64_t SearchModel::rowHits() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) sum += shown_[i] ? counts_[i] : 0;
  return sum;
}

std::optional<std::size_t> SearchModel::current() const {
  if (!current_) return std::nullopt;
  const auto& all = hits();
  for (auto at = std::lower_bound(all.begin(), all.end(), *current_, isEarlier);
       at != all.end() && at->timeNs == current_->timeNs; ++at) {
    if (at->event == current_->event && at->index == current_->index) {
      return static_cast<std::size_t>(at - all.begin());
    }
  }
  return std::nullopt;
}

void SearchModel::setCurrent(const std::optional<Hit>& hit) {
  if (hit == current_) return;
  current_ = hit;
  if (!current()) current_.reset();
  emit currentChanged();
}

std::optional<SearchModel::Hit> SearchModel::step(int direction, std::int64_t fromNs) {
  const auto& all = hits();
  if (all.empty()) return std::nullopt;
  const std::size_t last = all.size() - 1;
  std::size_t next = 0;
  if (const auto at = current()) {
    next = direction > 0 ? (*at == last ? 0 : *at + 1) : (*at == 0 ? last : *at - 1);
  } else {
    Hit from;
    from.timeNs = fromNs;
    const auto after = std::lower_bound(all.begin(), all.end(), from, isEarlier);
    const auto index = static_cast<std::size_t>(after - all.begin());
    next = direction > 0 ? (index > last ? 0 : index) : (index == 0 ? last : index - 1);
  }
  current_ = all[next];
  emit currentChanged();
  return current_;
}

int SearchModel::currentRow() const {
  const auto at = current();
  if (!at) return -1;
  const Hit& hit = hits()[*at];
  std::uint32_t op = kNoId, module = kNoId;
  CallSiteId site = kNoId;
  const auto take = [&](const auto& event) {
    op = event.op();
    module = event.module_id();
  };
  switch (hit.event) {
    case FoundEvent::kOp:
      if (const auto* span = store_->ops().at(hit.index)) take(*span);
      break;
    case FoundEvent::kSyncPoint:
      take(store_->syncPoints()[hit.index]);
      site = store_->syncPoints()[hit.index].call_site();
      break;
    case FoundEvent::kFallback:
      take(store_->fallbacks()[hit.index]);
      site = store_->fallbacks()[hit.index].call_site();
      break;
    case FoundEvent::kMarker:
      break;
  }
  return firstRow([&](const Row& row) {
    switch (row.place) {
      case Place::kOps:
        return row.match.event == hit.event && row.match.id == op;
      case Place::kModules:
        return row.match.id == module;
      case Place::kCallSites:
        return row.match.id == site;
      case Place::kMarkers:
        return hit.event == FoundEvent::kMarker && row.match.id == hit.index;
      case Place::kLog:
        break;
    }
    return false;
  });
}

std::optional<SearchModel::Hit> SearchModel::firstOf(int row) const {
  const Row& of = rows()[static_cast<std::size_t>(row)];
  return of.match.events > 0 ? std::optional(of.match.first) : std::nullopt;
}

int SearchModel::logRowOf(int row) const {
  const Row& of = rows()[static_cast<std::size_t>(row)];
  const bool same = of.log >= 0 && log_->index(of.log).data().toString() == of.text;
  return same ? of.log : -1;
}

QString SearchModel::foundIn(const Row& row) const {
  switch (row.place) {
    case Place::kOps: {
      const bool isNode = row.match.text.starts_with("autograd::engine::");
      const QString kind = row.match.event == FoundEvent::kFallback    ? tr("fallback")
                           : row.match.event == FoundEvent::kSyncPoint ? tr("sync point")
                           : isNode                                    ? tr("node of backward")
                                                                       : tr("op");
      const QString line = highwater::text(store_->callSiteParts(row.match.site).line);
      return line.isEmpty() ? kind : tr("%1, %2").arg(kind, line);
    }
    case Place::kModules:
      return tr("module");
    case Place::kMarkers:
      return tr("marker");
    case Place::kCallSites:
      return tr("call site");
    case Place::kLog:
      return tr("log");
  }
  return {};
}

QString SearchModel::where(const Row& row) const {
  if (row.match.events == 0) return kNoValue;
  if (row.match.firstStep == 0) {
    return highwater::text(formatRunTime(row.match.first.timeNs, 1));
  }
  return stepsText(row.match.firstStep, row.match.lastStep);
}

QVariant SearchModel::rowData(const Row& row, int role) const {
  switch (role) {
    case kPlaceRole:
      return static_cast<int>(row.place);
    case kEventRole:
      return static_cast<int>(row.match.event);
    case kPlannedRole:
      return row.match.planned;
    case kMarkerKindRole:
      return row.place == Place::kMarkers && row.match.id < store_->markers().size()
                 ? static_cast<int>(store_->markers()[row.match.id].kind())
                 : 0;
    case kFoundAtRole:
      return row.foundAt;
    default:
      return {};
  }
}

}  // namespace highwater::models
