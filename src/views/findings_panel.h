#pragma once

#include <QFrame>
#include <QString>
#include <vector>

#include "analysis/findings.h"

class QLabel;
class QToolButton;
class QVBoxLayout;

namespace highwater::views {

/// How much a finding matters, by its weight.
enum class Severity { kMinor, kModerate, kMajor };
/// A fifth of the step (or of the limit) is major, a twentieth moderate.
[[nodiscard]] Severity severityOf(const analysis::Finding& finding);
[[nodiscard]] QString severityWord(Severity severity);

/// One finding: how bad, what it costs, where, what to do, and the ways on.
class FindingCard final : public QFrame {
  Q_OBJECT

 public:
  explicit FindingCard(QWidget* parent = nullptr);
  void showFinding(const analysis::Finding& finding);
  [[nodiscard]] const analysis::Finding& finding() const { return finding_; }

 signals:
  void picked();
  void acceptRequested(const QString& op);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  [[nodiscard]] bool acceptable() const;
  void requestAccept();

  analysis::Finding finding_;
  QLabel *severity_, *cost_, *title_, *where_, *evidence_, *advice_, *places_;
  QToolButton *show_, *accept_;
};

/// The findings of a run as cards, the worst first, and the fallbacks that the user accepted.
class FindingsPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit FindingsPanel(QWidget* parent = nullptr);

  /// `begun`: there is a run at all.
  void showFindings(const analysis::Findings& findings, bool begun);
  [[nodiscard]] const std::vector<FindingCard*>& cards() const { return cards_; }

 signals:
  void findingPicked(const highwater::analysis::Finding& finding);
  void acceptRequested(const QString& op);
  void withdrawRequested(const QString& op);

 private:
  void showAccepted(const std::vector<analysis::AcceptedFallback>& accepted);

  QVBoxLayout *column_, *acceptedColumn_;
  QLabel *emptyTitle_, *empty_, *acceptedTitle_;
  QWidget* acceptedBox_;
  std::vector<FindingCard*> cards_;
  std::vector<analysis::AcceptedFallback> accepted_;
};

}  // namespace highwater::views
