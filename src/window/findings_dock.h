#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <optional>

#include "analysis/findings/findings.h"
#include "views/panes/event_focus.h"

class QDockWidget;

namespace highwater::views {
class DockTitle;
class FindingsPanel;
}  // namespace highwater::views

namespace highwater::window {

/// Checks the run, or the selected range of it, for findings now and then and shows them in a dock.
/// A check takes longer as the run grows, so the checks take at most a twentieth of the time.
class FindingsDock final : public QObject {
  Q_OBJECT

 public:
  FindingsDock(QDockWidget* dock, views::DockTitle* title, const analysis::LiveStore* store,
               views::TimeAxis* axis, views::EventFocus* focus);

  /// Checks for findings if the store has changed. If the last check was too recent, a timer makes
  /// up for it.
  void refresh();
  /// Checks for findings soon, once the selection has rested: a check takes long in a long run.
  void refreshLater();
  /// Checks for findings at once, for when the user accepted a fallback or another run is shown.
  void checkNow();
  /// The lane that the worst finding is about, if that is about events.
  [[nodiscard]] std::optional<views::Lane> worstLane() const { return worstLane_; }

 signals:
  /// The user accepts that an op (its full name) runs on the CPU.
  void acceptRequested(const QString& op);
  /// The user no longer accepts that an op (its full name) runs on the CPU.
  void withdrawRequested(const QString& op);

 private:
  void show(const analysis::Finding& finding);

  const analysis::LiveStore* store_;
  views::TimeAxis* axis_;
  views::EventFocus* focus_;
  views::DockTitle* title_;
  views::FindingsPanel* panel_;
  QTimer timer_;
  QElapsedTimer sinceCheck_;
  qint64 waitMs_ = 0;  ///< from one check to the next
  std::uint64_t revision_ = 0;
  std::optional<views::Lane> worstLane_;
};

}  // namespace highwater::window
