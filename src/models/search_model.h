#pragma once

#include <QString>
#include <QTimer>
#include <array>
#include <optional>
#include <vector>

#include "analysis/search.h"
#include "models/column_model.h"
#include "models/log_model.h"

namespace highwater::models {

/// A row of SearchModel: a match and how it is shown.
struct SearchRow {
  analysis::SearchPlace place = analysis::SearchPlace::kOps;
  analysis::SearchMatch match;  ///< of a log line only `text` is used
  int log = -1;                 ///< row of the log
  QString text;                 ///< as shown
  int foundAt = 0;
};

/// A search over a run: its matches as rows of a table, its hits on the timeline by time, and the
/// current one. Case does not matter. The matches of a place that was switched off are missing,
/// but they are counted.
class SearchModel final : public ColumnModel<SearchRow> {
  Q_OBJECT

 public:
  using Place = analysis::SearchPlace;
  using Hit = analysis::SearchHit;

  enum Column { kMatch, kFoundIn, kHits, kWhere };
  /// Extra roles, beyond those of TableModel.
  enum Role {
    kPlaceRole = Qt::UserRole + 101,  ///< the Place as an int
    kEventRole,                       ///< the analysis::FoundEvent as an int
    kPlannedRole,                     ///< whether a sync point is planned
    kMarkerKindRole,                  ///< the events::MarkerKind of a marker as an int
    kFoundAtRole,                     ///< where the found part of the text begins
  };

  /// Searches a store and a log, which are not owned and must outlive this object.
  SearchModel(const analysis::LiveStore* store, const LogModel* log, QObject* parent = nullptr);

  /// Searches for a text; an empty one finds nothing.
  void setText(const QString& text);
  [[nodiscard]] const QString& text() const { return text_; }
  /// Finds what store and log got since the last call. Of a large store it looks at a part, and at
  /// the rest from the event loop.
  void refresh();
  /// Sets how many events are looked at before the event loop goes on.
  void setMostAtOnce(std::size_t events) { mostAtOnce_ = events; }
  /// Searches again from the start: the store holds another run.
  void startOver();
  /// Leaves out the matches of a place, or shows them again.
  void setShown(Place place, bool shown);
  [[nodiscard]] bool isShown(Place place) const { return shown_[static_cast<std::size_t>(place)]; }

  /// The hits in a place, also if that is left out.
  [[nodiscard]] std::uint64_t count(Place place) const {
    return counts_[static_cast<std::size_t>(place)];
  }
  /// The hits of all rows. An event is counted for each of its names.
  [[nodiscard]] std::uint64_t rowHits() const;
  /// The events that were found, by time, each once: what the timeline marks.
  [[nodiscard]] const std::vector<Hit>& hits() const { return allShown_ ? search_.hits() : some_; }
  /// The index in hits() of the hit that was stepped to last; empty if there is none.
  [[nodiscard]] std::optional<std::size_t> current() const;
  /// Makes an event the current hit; one that was not found clears it.
  void setCurrent(const std::optional<Hit>& hit);
  /// Makes the next hit (`direction` 1) or the previous one (-1) current and returns it. That is
  /// the neighbour of the current hit or, without one, the nearest to the time `fromNs`; from the
  /// last one it goes on with the first. Empty if nothing was found.
  [[nodiscard]] std::optional<Hit> step(int direction, std::int64_t fromNs);
  /// The row of the current hit, by the first of its names that is shown; -1 if there is none.
  [[nodiscard]] int currentRow() const;
  /// The earliest event of a row; empty for a row without events.
  [[nodiscard]] std::optional<Hit> firstOf(int row) const;
  /// The row of the log that a row was found in; -1 for a row of another place, and for a line that
  /// the log has removed since.
  [[nodiscard]] int logRowOf(int row) const;

 signals:
  /// Text, hits or counts have changed.
  void changed();
  /// The current hit has changed.
  void currentChanged();

 private:
  using Row = SearchRow;

  [[nodiscard]] QVariant rowData(const Row& row, int role) const override;
  [[nodiscard]] bool isWanted(const QString& name) const;
  [[nodiscard]] Row rowOf(const analysis::SearchMatch& match) const;
  void find();
  void findLogLines(std::vector<Row>& rows);
  void showRows();
  void filterHits();
  [[nodiscard]] QString foundIn(const Row& row) const;
  [[nodiscard]] QString where(const Row& row) const;

  const analysis::LiveStore* store_;
  const LogModel* log_;
  QString text_;
  analysis::StoreSearch search_;
  std::size_t mostAtOnce_ = 200'000;  ///< some ten milliseconds
  QTimer goOn_;
  std::vector<Hit> some_;  ///< the hits of the shown places, unless all are shown
  std::array<std::uint64_t, analysis::kSearchPlaces> counts_{};
  std::array<bool, analysis::kSearchPlaces> shown_{true, true, true, true, true};
  bool allShown_ = true;
  std::optional<Hit> current_;
};

}  // namespace highwater::models
