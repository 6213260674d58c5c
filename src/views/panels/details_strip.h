#pragma once

#include <QWidget>

#include "views/panes/event_focus.h"

class QToolButton;

namespace highwater::views {

/// A line with the details of the picked event: what it is, where it was called from, as a link to
/// the source, and the memory at that moment; then buttons to step through the events of its kind.
class DetailsStrip final : public QWidget {
  Q_OBJECT

 public:
  DetailsStrip(const analysis::LiveStore* store, EventFocus* focus, QWidget* parent = nullptr);
  /// Redraws the details, for when the store has changed.
  void refresh();

  /// The texts that fit, from left to right, without the link.
  [[nodiscard]] QStringList words() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Word {
    QString text;
    bool semibold = false, quiet = true;
    double x = 0, width = 0;
  };
  /// Places the words and the link that fit; where not all do, those that come first count more.
  void layOut();
  [[nodiscard]] double right() const;

  const analysis::LiveStore* store_;
  EventFocus* focus_;
  std::vector<Word> words_;
  CallSiteId site_ = kNoId;  ///< of the link
  QToolButton *callSite_, *previous_, *next_;
};

}  // namespace highwater::views
