#pragma once

#include <QTimer>
#include <QWidget>

#include "views/event_focus.h"

class QLabel;
class QToolButton;

namespace highwater::views {

/// One line about the picked event, with Previous and Next. It stands under the lanes, never over
/// them.
class DetailsStrip final : public QWidget {
  Q_OBJECT

 public:
  DetailsStrip(const analysis::LiveStore* store, EventFocus* focus, QWidget* parent = nullptr);
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
