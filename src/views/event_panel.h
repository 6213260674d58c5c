#pragma once

#include <QWidget>

#include "views/event_focus.h"
#include "views/event_text.h"

namespace highwater::views {

/// All that is known of the picked event, a row each. Hidden while nothing is picked.
class EventPanel final : public QWidget {
  Q_OBJECT

 public:
  EventPanel(const analysis::LiveStore* store, EventFocus* focus, QWidget* parent = nullptr);

  /// What stands there, for tests and screen readers.
  [[nodiscard]] const std::vector<EventFact>& facts() const { return facts_; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Line {
    QRect name, value;
    bool wrapped = false;
  };
  void refresh();
  void layOut();

  const analysis::LiveStore* store_;
  EventFocus* focus_;
  std::vector<EventFact> facts_;
  std::vector<Line> lines_;
};

}  // namespace highwater::views
