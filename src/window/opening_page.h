#pragma once

#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "run/recording_opening.h"
#include "views/panes/event_focus.h"
#include "views/panes/time_axis.h"

class QLabel;
class QProgressBar;
class QTimer;
class QToolButton;

namespace highwater::views {
class TimePane;
}

namespace highwater::window {

/// What the window shows while it reads a recording: how far it is, a way to cancel and, for a
/// large recording, an overview of the run: its memory over time, without what counts events. The
/// overview is a store of its own, so that no table or finding is made from a part of the run.
class OpeningPage final : public QWidget {
  Q_OBJECT

 public:
  explicit OpeningPage(QWidget* parent = nullptr);
  ~OpeningPage() override;

  /// Begins to read a recording. What was being read is cancelled.
  void open(const std::filesystem::path& path, std::size_t memoryBudget);
  /// Stops reading; cancelled() follows. Does nothing if nothing is being read.
  void cancel();
  /// Whether a recording is being read.
  [[nodiscard]] bool reads() const { return opening_ != nullptr; }
  /// Whether it shows an overview of what is being read.
  [[nodiscard]] bool showsOverview() const { return reads() && overview_.hello().has_value(); }
  /// Sets how long reading may take before the page is worth showing; 200 ms if not called.
  void setPatience(int milliseconds);
  /// Chooses the layout of the panes for a small window.
  void setSmall(bool small);
  /// The range that the user has zoomed to in the overview, if any.
  [[nodiscard]] std::optional<views::TimeRange> chosenRange() const;

 signals:
  /// Reading takes so long that the page is worth showing.
  void worthShowing();
  /// An overview of the run is shown.
  void overviewShown();
  void cancelled();
  /// The recording has been read, or it cannot be: see run::RecordingOpening::ended().
  void ended(
      const std::filesystem::path& path,
      const std::shared_ptr<highwater::Result<highwater::run::RecordingOpening::Loaded>>& loaded);

 private:
  void showOverview(analysis::LiveStore&& overview);
  void forget();

  std::unique_ptr<run::RecordingOpening> opening_;
  std::uint64_t serial_ = 0;  ///< of opening_: what comes from another one is stale
  analysis::LiveStore overview_;
  views::TimeAxis axis_;
  views::EventFocus focus_;
  QLabel* title_;
  QLabel* hint_;
  QProgressBar* progress_;
  QToolButton* cancel_;
  QWidget* panes_ = nullptr;             ///< only while there is an overview
  std::vector<views::TimePane*> shown_;  ///< in panes_: ruler, memory and whole run
  bool small_ = false;
  QTimer* patience_;
};

}  // namespace highwater::window
