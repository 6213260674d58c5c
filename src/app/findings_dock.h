#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include "analysis/findings.h"
#include "views/event_focus.h"

class QDockWidget;

namespace highwater::views {
class DockTitle;
class FindingsPanel;
}  // namespace highwater::views

namespace highwater::app {

/// Judges the run now and then, and shows what it found. Judging costs more the longer a run is: it
/// takes a twentieth of the time at most.
class FindingsDock final : public QObject {
  Q_OBJECT

 public:
  FindingsDock(QDockWidget* dock, views::DockTitle* title, const analysis::LiveStore* store,
               views::TimeAxis* axis, views::EventFocus* focus);

  /// The store may have changed: judges it when it is time to.
  void refresh();
  /// Judges at once: the user accepted a fallback, or another run is shown.
  void judgeNow();

 signals:
  void acceptRequested(const QString& op);
  void withdrawRequested(const QString& op);

 private:
  void show(const analysis::Finding& finding);

  const analysis::LiveStore* store_;
  views::TimeAxis* axis_;
  views::EventFocus* focus_;
  views::DockTitle* title_;
  views::FindingsPanel* panel_;
  QTimer timer_;
  QElapsedTimer sinceJudged_;
  qint64 waitMs_ = 0;  ///< from one judgement to the next
  std::uint64_t revision_ = 0;
};

}  // namespace highwater::app
