#pragma once

#include <QWidget>

#include "views/lanes/event_text.h"
#include "views/panes/event_focus.h"

namespace highwater::views {

/// A widget that lists all facts about the picked event, one per row. Hidden while no event is
/// picked.
class EventPanel final : public QWidget {
  Q_OBJECT

 public:
  EventPanel(const analysis::LiveStore* store, EventFocus* focus, QWidget* parent = nullptr);

  /// The facts shown, for tests.
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
