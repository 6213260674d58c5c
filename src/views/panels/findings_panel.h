#pragma once

#include <QFrame>
#include <QString>
#include <QStringList>
#include <vector>

#include "analysis/findings/findings.h"
#include "analysis/findings/run_changes.h"

class QLabel;
class QToolButton;
class QVBoxLayout;

namespace highwater::views {

/// How much a finding matters.
enum class Severity { kMinor, kModerate, kMajor };
/// Rates a finding by its weight: from a fifth of the step (or of the memory limit) on major, from
/// a twentieth on moderate, else minor.
[[nodiscard]] Severity severityOf(const analysis::Finding& finding);
/// The severity as a translated word: "major".
[[nodiscard]] QString severityWord(Severity severity);

/// A card for one finding: severity, cost, place, evidence, advice, and its buttons.
class FindingCard final : public QFrame {
  Q_OBJECT

 public:
  /// Makes an empty card; showFinding() fills it.
  explicit FindingCard(QWidget* parent = nullptr);
  void showFinding(const analysis::Finding& finding);
  /// Offers to try what a fix gains, where the finding can be tried.
  void setTrying(bool possible);
  [[nodiscard]] const analysis::Finding& finding() const { return finding_; }
  /// What the card says, as text to copy.
  [[nodiscard]] QString asText() const;

 signals:
  /// The user clicked the card, to see the finding in the timeline.
  void picked();
  /// The user accepts that `op` (its full name) runs on the CPU.
  void acceptRequested(const QString& op);
  /// The user wants to see what the fix gains.
  void tryRequested();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  [[nodiscard]] bool acceptable() const;
  void requestAccept();
  /// Shows the first clause of the evidence, or all of it.
  void showEvidence();

  analysis::Finding finding_;
  bool showsDetails_ = false, canTry_ = false;
  QLabel *severity_, *cost_, *title_, *where_, *evidence_, *advice_;
  QToolButton *show_, *try_, *accept_, *more_;
};

/// What a change did, in lines: its text, then speed, then driver memory where it changed, then
/// what is gone. A change within the noise is said to be so.
[[nodiscard]] QStringList changeLines(const analysis::RunChange& change);

/// Who is the bottleneck of a run, its findings as cards, worst first, and below them the accepted
/// fallbacks.
class FindingsPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit FindingsPanel(QWidget* parent = nullptr);

  /// Shows the findings and the accepted fallbacks. `begun` tells whether a run has started or a
  /// recording is open; otherwise an empty panel explains itself. `ended`: the run has ended, and
  /// nothing more is to come.
  void showFindings(const analysis::Findings& findings, bool begun, bool ended = false);
  /// Shows that the run or the range is being checked, in place of the findings of another one.
  void showChecking();
  /// Whether fixes can be tried now: a script trains, and nothing else turns its knobs.
  void setTrying(bool possible);
  /// Says how the run ended where that was neither planned nor is a finding: by a signal, or with
  /// an exit code and no word. std::nullopt, or any other end, says nothing. `opsMayTell`:
  /// recording again with every op may tell more than the log. Not so of a script, whose traceback
  /// is there, nor where nothing trained.
  void showEnd(const std::optional<RunEnd>& end, bool opsMayTell = true);
  /// Shows what the changes of settings did, the newest first; none hides the section.
  void showChanges(const std::vector<analysis::RunChange>& changes);
  [[nodiscard]] const std::vector<FindingCard*>& cards() const { return cards_; }

 signals:
  /// The user clicked the card of a finding, to see it in the timeline.
  void findingPicked(const highwater::analysis::Finding& finding);
  /// The user accepts that `op` (its full name) runs on the CPU.
  void acceptRequested(const QString& op);
  /// The user no longer accepts that `op` (its full name) runs on the CPU.
  void withdrawRequested(const QString& op);
  /// The user wants to see what the fix of a finding gains.
  void tryRequested(const highwater::analysis::Finding& finding);

 private:
  void showAccepted(const std::vector<analysis::AcceptedFallback>& accepted);

  QVBoxLayout *column_, *acceptedColumn_;
  QLabel *endTitle_, *endText_, *verdict_, *why_, *emptyTitle_, *empty_, *acceptedTitle_,
      *changesTitle_;
  QWidget* changesBox_;
  QList<QStringList> changes_;  ///< the lines that are shown
  QWidget* acceptedBox_;
  std::vector<FindingCard*> cards_;
  bool canTry_ = false;
  std::vector<analysis::AcceptedFallback> accepted_;
};

}  // namespace highwater::views
