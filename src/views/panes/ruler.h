#pragma once

#include "views/panes/time_pane.h"

namespace highwater::models {
class SearchModel;
}

namespace highwater::views {

/// A pane with the time ruler: labels, the time at the cursor, and the selection with a handle at
/// each end. A click clears the selection.
class Ruler final : public TimePane {
  Q_OBJECT

 public:
  Ruler(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
        QWidget* parent = nullptr);
  void setMeasures(const PaneMeasures& measures) override;
  /// Marks the hits of a search at the foot of the ruler. Not owned; it must outlive this pane.
  void showSearch(const models::SearchModel* search);

 protected:
  [[nodiscard]] bool hasMarkLines() const override { return false; }
  void paintMarks(QPainter&) override {}
  void paintGround(QPainter& painter) override;
  void paintOverlay(QPainter& painter) override;
  void clicked(const QPoint& position) override;
  [[nodiscard]] QRegion overlayRegion() override { return rect(); }

 private:
  /// The box with the time at the cursor; a null rectangle without a cursor.
  [[nodiscard]] QRectF cursorTag() const;
  void paintLabels(QPainter& painter) const;
  void paintHandles(QPainter& painter) const;
  /// The box of the letter of a pinned range; a null rectangle where the range is out of view.
  [[nodiscard]] QRectF flagOf(Pin pin) const;
  void paintFlags(QPainter& painter) const;
  void paintHits(QPainter& painter) const;

  const models::SearchModel* search_ = nullptr;
};

}  // namespace highwater::views
