#pragma once

#include <QTimer>
#include <QWidget>

#include "views/panes/event_focus.h"

class QLabel;
class QToolButton;

namespace highwater::views {

/// A widget below the timeline that describes the picked event in one line, with the buttons
/// Previous and Next.
class DetailsStrip final : public QWidget {
  Q_OBJECT

 public:
  DetailsStrip(const analysis::LiveStore* store, EventFocus* focus, QWidget* parent = nullptr);
  /// Shows the buttons if there are events to step through, and repaints. Call it when the store
  /// has changed.
  void refresh();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const analysis::LiveStore* store_;
  EventFocus* focus_;
  QToolButton* previous_;
  QToolButton* next_;
};

}  // namespace highwater::views
