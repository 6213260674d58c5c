#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <memory>
#include <optional>

#include "analysis/findings/findings.h"
#include "analysis/findings/run_changes.h"
#include "views/panes/event_focus.h"

class QDockWidget;

namespace highwater::views {
class DockTitle;
class FindingsPanel;
}  // namespace highwater::views

namespace highwater::window {

/// Checks the run, or the selected range of it, for findings now and then and shows them in a dock.
/// A check takes longer as the run grows, so the checks take at most a twentieth of the time, and a
/// long one is spread over turns of the event loop. Nothing is shown of it until it is complete.
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
  /// Checks for findings at once and to the end, for when the user accepted a fallback.
  void checkNow();
  /// Shows that another run is checked, and begins.
  void startOver();
  /// Whether fixes can be tried now: see views::FindingsPanel.
  void setTrying(bool possible);
  /// Whether a check has begun that is not complete.
  [[nodiscard]] bool isChecking() const { return check_.has_value(); }
  /// Completes the check that has begun. Does nothing without one.
  void finish();
  /// The lane that the worst finding is about, if that is about events.
  [[nodiscard]] std::optional<views::Lane> worstLane() const { return worstLane_; }

 signals:
  /// A check is complete, and its findings are shown.
  void checked();
  /// As checked(), for those of the whole run: analysis::Findings::driverMemoryGrows().
  void memoryGrows(bool grows);
  /// As checked(), for those of the whole run: analysis::Findings::waitsCostLittle.
  void waitsCostLittle(bool little);
  /// The user accepts that an op (its full name) runs on the CPU.
  void acceptRequested(const QString& op);
  /// The user no longer accepts that an op (its full name) runs on the CPU.
  void withdrawRequested(const QString& op);
  /// The user wants to see what the fix of a finding gains.
  void tryRequested(const highwater::analysis::Finding& finding);

 private:
  /// Begins a check, in place of one that is not complete.
  void begin();
  /// Goes on with the check for a short while; the next turn follows.
  void takeTurn();
  /// Does the next part of the check: first the findings, then what the run's changes did.
  void advance();
  [[nodiscard]] bool isDone() const;
  void showChecked();
  void show(const analysis::Finding& finding);

  const analysis::LiveStore* store_;
  views::TimeAxis* axis_;
  views::EventFocus* focus_;
  views::DockTitle* title_;
  views::FindingsPanel* panel_;
  QTimer timer_;      ///< until the next check begins
  QTimer turnTimer_;  ///< until the next turn of the check
  std::optional<Turns<analysis::Findings>> check_;
  /// After the findings of the whole run: two ranges of one's own are for Compare.
  std::optional<Turns<std::vector<analysis::RunChange>>> changes_;
  analysis::KnownRunChanges known_;
  std::optional<analysis::TimeRange> range_;  ///< of that check
  std::uint64_t checkRevision_ = 0;
  bool isOutdated_ = false;    ///< what is shown is of another run or range
  bool saysChecking_ = false;  ///< and the panel says so, in place of it
  qint64 costNs_ = 0;          ///< of that check, so far
  QElapsedTimer sinceCheck_;
  qint64 waitMs_ = 0;           ///< from one check to the next
  std::uint64_t revision_ = 0;  ///< of the findings that are shown
  std::optional<views::Lane> worstLane_;
};

}  // namespace highwater::window
