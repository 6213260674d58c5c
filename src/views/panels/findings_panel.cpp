#include "views/panels/findings_panel.h"

#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QRegularExpression>
#include <QVBoxLayout>

#include "analysis/run_end_text.h"
#include "core/units.h"
#include "models/qt_text.h"
#include "views/panels/copy_actions.h"
#include "views/panels/link_button.h"
#include "views/panes/paint.h"

namespace highwater::views {

using analysis::AcceptedFallback;
using analysis::Finding;
using analysis::FindingKind;
using analysis::Findings;

namespace {

constexpr double kMajorWeight = 0.2, kModerateWeight = 0.05;
constexpr int kMeterWidth = 18;

/// A label that shows markup literally: names come from the measured program.
QLabel* plainLabel(QWidget* parent, const char* kind, bool wraps = true) {
  auto* label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(wraps);
  label->setProperty("kind", kind);
  return label;
}

/// Whether a process gets the signal of this name for an error of its own.
bool isCrash(const QString& name) {
  static const QStringList crashes = {QStringLiteral("SIGSEGV"), QStringLiteral("SIGBUS"),
                                      QStringLiteral("SIGILL"), QStringLiteral("SIGFPE"),
                                      QStringLiteral("SIGABRT")};
  return crashes.contains(name);
}

/// What fixing the finding gains, by which the cards are ranked; what it costs where that is not
/// known.
QString costText(const Finding& finding) {
  QString cost;
  if (finding.gainMs) {
    const analysis::Gain& gain = *finding.gainMs;
    // The number that the cards are in order of; where it is the upper bound, it says so.
    const std::string estimate = formatMs(gain.estimate), high = formatMs(gain.high);
    const bool inside = estimate != formatMs(0) && (estimate != high || formatMs(gain.low) == high);
    // Bounds that differ by a factor of more than two each way leave no exact number.
    const bool isWide = 2 * gain.low < gain.estimate || gain.high > 2 * gain.estimate;
    return inside ? (isWide ? FindingCard::tr("saves about %1 a step")
                            : FindingCard::tr("saves %1 a step"))
                        .arg(text(formatMs(gain.estimate)))
                  : FindingCard::tr("saves up to %1 a step").arg(text(formatMs(gain.high)));
  }
  if (finding.waitsMs) {
    cost = FindingCard::tr("%1 a step").arg(text(formatMs(*finding.waitsMs)));
  } else if (finding.costBytes) {
    cost = FindingCard::tr("%1 a step")
               .arg(text(formatBytes(static_cast<std::uint64_t>(*finding.costBytes))));
  }
  return finding.estimate && !cost.isEmpty() ? FindingCard::tr("about %1").arg(cost) : cost;
}

QColor severityColor(Severity severity, const Theme& theme) {
  return severity == Severity::kMajor      ? theme.vermillion
         : severity == Severity::kModerate ? theme.orange
                                           : theme.grey;
}

/// The gain with its bounds, of which the card's first line has only one number; empty if that is
/// all there is to say.
QString findingBoundsText(const Finding& finding) {
  const auto& gain = finding.gainMs;
  if (!gain || formatMs(gain->low) == formatMs(gain->high)) return {};
  return FindingCard::tr("Fixing it saves %1").arg(text(finding.gain));
}

/// Where the evidence goes into detail: after its first clause, if much follows; -1 if not.
qsizetype detailsFrom(const QString& evidence) {
  constexpr qsizetype kLeastDetails = 60;
  int depth = 0;
  for (qsizetype i = 0; i + kLeastDetails < evidence.size(); ++i) {
    depth += evidence[i] == QLatin1Char('(') ? 1 : evidence[i] == QLatin1Char(')') ? -1 : 0;
    if (depth == 0 && evidence[i] == QLatin1Char(';')) return i;
  }
  return -1;
}

constexpr QChar kNoBreakSpace(0x00A0), kWordJoiner(0x2060), kZeroWidthSpace(0x200B);

/// The text, whose lines may not break between a number and its unit, nor within `model.cpp:22`,
/// and may after the dots of a name that is longer than the panel can be wide.
QString unbroken(QString text) {
  static const QRegularExpression dotOfLongName(
      QStringLiteral("(?<=\\.)(?=\\w)(?:(?<=\\S{25})|(?=\\S{12}))"));
  text.replace(dotOfLongName, kZeroWidthSpace);
  static const QRegularExpression unit(
      QStringLiteral("(?<=\\d) (?=(?:%|[KMGT]i?B|B|[mµn]?s|s|min|h)(?!\\w))"));
  static const QRegularExpression line(QStringLiteral("(?<=\\w:)(?=\\d)"));
  return text.replace(unit, kNoBreakSpace).replace(line, kWordJoiner);
}

QString breakable(QString text) {
  return text.replace(kNoBreakSpace, QLatin1Char(' ')).remove(kWordJoiner).remove(kZeroWidthSpace);
}

void setWrapped(QLabel* label, const QString& text) {
  label->setVisible(!text.isEmpty());
  const QString shown = unbroken(text);
  if (label->text() != shown) {
    label->setText(shown);
  }
}

}  // namespace

Severity severityOf(const Finding& finding) {
  if (finding.withinNoise) return Severity::kMinor;
  return finding.weight >= kMajorWeight      ? Severity::kMajor
         : finding.weight >= kModerateWeight ? Severity::kModerate
                                             : Severity::kMinor;
}

QString severityWord(Severity severity) {
  switch (severity) {
    case Severity::kMajor:
      return FindingCard::tr("major");
    case Severity::kModerate:
      return FindingCard::tr("moderate");
    case Severity::kMinor:
      break;
  }
  return FindingCard::tr("minor");
}

FindingCard::FindingCard(QWidget* parent) : QFrame(parent) {
  setObjectName(QStringLiteral("findingCard"));
  setCursor(Qt::PointingHandCursor);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(14, 8, 10, 6);
  column->setSpacing(4);
  auto* head = new QHBoxLayout;
  head->setSpacing(6);
  head->addSpacing(kMeterWidth);
  severity_ = plainLabel(this, "quiet", false);
  cost_ = plainLabel(this, "title", false);
  head->addWidget(severity_);
  head->addStretch();
  head->addWidget(cost_);
  column->addLayout(head);
  title_ = plainLabel(this, "title");
  where_ = plainLabel(this, "quiet");
  evidence_ = plainLabel(this, "quiet");
  advice_ = plainLabel(this, "plain");
  // What to do before the evidence: it must be in sight without scrolling.
  for (QLabel* label : {title_, advice_, where_, evidence_}) {
    column->addWidget(label);
  }
  advice_->setObjectName(QStringLiteral("findingAdvice"));
  auto* foot = new QHBoxLayout;
  foot->setSpacing(4);
  show_ = linkButton(tr("Show in timeline"), "showFindingButton", this);
  try_ = linkButton(tr("Try it…"), "tryFixButton", this);
  try_->setToolTip(
      tr("Measure what the fix gains: leave out these waits for some steps, in turns"));
  accept_ = linkButton(tr("Accept…"), "acceptFallbackButton", this);
  accept_->setToolTip(
      tr("Accept the CPU path: the recording keeps that this op may run on the CPU, and "
         "why"));
  more_ = linkButton(tr("More"), "moreEvidenceButton", this);
  foot->addWidget(show_);
  foot->addWidget(try_);
  foot->addWidget(accept_);
  foot->addWidget(more_);
  foot->addStretch();
  column->addLayout(foot);
  connect(show_, &QToolButton::clicked, this, &FindingCard::picked);
  connect(try_, &QToolButton::clicked, this, &FindingCard::tryRequested);
  connect(accept_, &QToolButton::clicked, this, &FindingCard::requestAccept);
  connect(more_, &QToolButton::clicked, this, [this] {
    showsDetails_ = !showsDetails_;
    showEvidence();
  });
  addCopyText(this, tr("Copy"), [this] { return asText(); });
  setContextMenuPolicy(Qt::DefaultContextMenu);  // with more than that
}

void FindingCard::setTrying(bool possible) {
  canTry_ = possible;
  try_->setVisible(canTry_ && finding_.canBeTried);
}

QString FindingCard::asText() const {
  QStringList lines;
  const QString gain =
      finding_.gain.empty() ? cost_->text() : tr("Fixing it saves %1").arg(text(finding_.gain));
  for (const QString& line :
       {text(finding_.title), gain, where_->text(), text(finding_.evidence), advice_->text()}) {
    if (!line.isEmpty()) lines << line;
  }
  return breakable(lines.join(QLatin1Char('\n')));
}

bool FindingCard::acceptable() const {
  return finding_.kind == FindingKind::Fallback && !finding_.ops.empty();
}

void FindingCard::requestAccept() {
  emit acceptRequested(text(finding_.ops.front()));
}

void FindingCard::showFinding(const Finding& finding) {
  if (finding.kind != finding_.kind || finding.ops != finding_.ops) showsDetails_ = false;
  finding_ = finding;
  const Severity severity = severityOf(finding);
  setWrapped(severity_, severityWord(severity));
  setWrapped(cost_, costText(finding));
  setWrapped(title_, text(finding.title));
  // Most evidence already names the place.
  const bool told =
      finding.where.empty() || finding.evidence.find(finding.where) != std::string::npos;
  setWrapped(where_, told ? QString() : tr("In %1").arg(text(finding.where)));
  showEvidence();
  // In place of the report's "highwater accept".
  const QString advice = text(finding.advice);
  setWrapped(advice_, acceptable() ? tr("To do: %1 (Accept… below)").arg(advice)
                                   : tr("To do: %1").arg(advice));
  advice_->setToolTip(text(findingSource(finding.kind)));
  accept_->setVisible(acceptable());
  try_->setVisible(canTry_ && finding.canBeTried);
  setAccessibleName(tr("Finding, %1: %2").arg(severityWord(severity), text(finding.title)));
  update();
}

void FindingCard::showEvidence() {
  const QString evidence = text(finding_.evidence);
  const qsizetype details = detailsFrom(evidence);
  const QString bounds = findingBoundsText(finding_);
  QStringList shown{showsDetails_ ? evidence : evidence.left(details)};
  if (showsDetails_ && !bounds.isEmpty()) shown << bounds;
  setWrapped(evidence_, shown.join(QLatin1Char('\n')));
  more_->setVisible(details >= 0 || !bounds.isEmpty());
  more_->setText(showsDetails_ ? tr("Less") : tr("More"));
}

void FindingCard::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = Theme::of(this);
  const Severity severity = severityOf(finding_);
  const QColor color = severityColor(severity, theme);
  painter.fillRect(rect(), theme.header);
  painter.fillRect(QRect(0, 0, 3, height()), color);
  painter.setPen(theme.separator);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
  // One to three filled bars, so that severities differ without colour.
  const int filled = static_cast<int>(severity) + 1;
  const double bottom = severity_->geometry().center().y() + 5.5;
  for (int i = 0; i < 3; ++i) {
    const double tall = 4 + 3.0 * i;
    const QRectF bar(14 + 5 * i, bottom - tall, 4, tall);
    painter.fillRect(bar, i < filled ? color : theme.track);
  }
}

void FindingCard::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && rect().contains(event->pos())) {
    emit picked();
  }
}

void FindingCard::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu(this);
  menu.addAction(show_->text(), this, &FindingCard::picked);
  if (acceptable()) {
    menu.addAction(tr("Accept the CPU path…"), this, &FindingCard::requestAccept);
  }
  menu.addSeparator();
  menu.addActions(actions());
  menu.exec(event->globalPos());
}

FindingsPanel::FindingsPanel(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("findingsPanel"));
  setAccessibleName(tr("Findings"));
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(12, 10, 12, 10);
  all->setSpacing(8);
  endTitle_ = plainLabel(this, "title");
  endTitle_->setObjectName(QStringLiteral("runEndTitle"));
  endText_ = plainLabel(this, "quiet");
  endText_->setObjectName(QStringLiteral("runEndText"));
  for (QLabel* each : {endTitle_, endText_}) {
    each->hide();
    all->addWidget(each);
  }
  verdict_ = plainLabel(this, "title");
  verdict_->setObjectName(QStringLiteral("verdict"));
  why_ = plainLabel(this, "quiet");
  why_->setObjectName(QStringLiteral("verdictDetails"));
  auto* verdict = new QVBoxLayout;
  verdict->setSpacing(2);
  verdict->addWidget(verdict_);
  verdict->addWidget(why_);
  all->addLayout(verdict);
  emptyTitle_ = plainLabel(this, "title");
  emptyTitle_->setText(tr("No findings"));
  all->addWidget(emptyTitle_);
  empty_ = plainLabel(this, "quiet");
  empty_->setObjectName(QStringLiteral("noFindings"));
  all->addWidget(empty_);
  column_ = new QVBoxLayout;
  column_->setSpacing(8);
  all->addLayout(column_);
  acceptedTitle_ = plainLabel(this, "title", false);
  acceptedTitle_->setText(tr("Accepted"));
  all->addWidget(acceptedTitle_);
  acceptedBox_ = new QWidget(this);
  acceptedBox_->setObjectName(QStringLiteral("acceptedFallbacks"));
  acceptedColumn_ = new QVBoxLayout(acceptedBox_);
  acceptedColumn_->setContentsMargins(0, 0, 0, 0);
  acceptedColumn_->setSpacing(8);
  all->addWidget(acceptedBox_);
  changesTitle_ = plainLabel(this, "title", false);
  changesTitle_->setText(tr("Changed in this run"));
  all->addWidget(changesTitle_);
  changesBox_ = new QWidget(this);
  changesBox_->setObjectName(QStringLiteral("runChanges"));
  auto* changes = new QVBoxLayout(changesBox_);
  changes->setContentsMargins(0, 0, 0, 0);
  changes->setSpacing(8);
  all->addWidget(changesBox_);
  changesTitle_->hide();
  changesBox_->hide();
  all->addStretch();
  showFindings({}, false);
}

void FindingsPanel::showFindings(const Findings& findings, bool begun, bool ended) {
  const std::size_t count = findings.found.size();
  while (cards_.size() > count) {
    delete cards_.back();
    cards_.pop_back();
  }
  while (cards_.size() < count) {
    auto* card = new FindingCard(this);
    column_->addWidget(card);
    connect(card, &FindingCard::picked, this,
            [this, card] { emit findingPicked(card->finding()); });
    connect(card, &FindingCard::acceptRequested, this, &FindingsPanel::acceptRequested);
    connect(card, &FindingCard::tryRequested, this,
            [this, card] { emit tryRequested(card->finding()); });
    card->setTrying(canTry_);
    cards_.push_back(card);
  }
  for (std::size_t i = 0; i < count; ++i) {
    cards_[i]->showFinding(findings.found[i]);
  }
  const QString verdict = text(findings.verdict.text);
  const qsizetype first = verdict.indexOf(QStringLiteral(". ")) + 1;
  setWrapped(verdict_, first > 0 ? verdict.left(first) : verdict);
  setWrapped(why_, first > 0 ? verdict.mid(first + 1) : QString());
  empty_->setVisible(count == 0);
  emptyTitle_->setVisible(count == 0 && findings.steps > 0);
  emptyTitle_->setText(findings.unobserved ? tr("No findings about memory") : tr("No findings"));
  if (ended && findings.steps == 0 && !findings.ofRange) {
    empty_->setText(tr("The run ended too early for findings: they need %1 steps after the first")
                        .arg(analysis::kLeastSteps));
  } else if (!begun) {
    empty_->setText(
        tr("What costs time or memory appears here, worst first, once a run has a "
           "few steps"));
  } else if (findings.steps == 0 && findings.ofRange) {
    empty_->setText(tr("Too few steps in the selection for findings: select at least %1")
                        .arg(analysis::kLeastSteps));
  } else if (findings.steps == 0) {
    empty_->setText(tr("Waiting for more steps (warm-up is not counted)"));
  } else if (findings.unobserved) {
    empty_->setText(tr("In %1 steps memory did not grow. Waits and fallbacks were not looked for: "
                       "the level was off")
                        .arg(findings.steps));
  } else {
    empty_->setText(
        tr("In %1 steps%2 no fallback, unplanned sync point, idle device or growing memory "
           "costs enough to be worth a change")
            .arg(QString::number(findings.steps),
                 findings.ofRange ? QString() : tr(" after the warm-up step")));
  }
  showAccepted(findings.accepted);
}

void FindingsPanel::setTrying(bool possible) {
  canTry_ = possible;
  for (FindingCard* each : cards_) each->setTrying(possible);
}

void FindingsPanel::showChecking() {
  showFindings({}, true);
  showEnd(std::nullopt);
  showChanges({});
  empty_->setText(tr("Checking…"));
}

void FindingsPanel::showEnd(const std::optional<RunEnd>& end, bool opsMayTell) {
  using Reason = RunEnd::Reason;
  const bool signalled = end && end->reason == Reason::kCrashed;
  const bool exited = end && end->reason == Reason::kExited && end->exitCode != 0;
  endTitle_->setVisible(signalled || exited);
  endText_->setVisible(signalled || exited);
  if (!signalled && !exited) return;
  // The session's sentence begins with the program's name.
  const QString what = end->message.empty() ? QString() : text(end->message) + tr(". ");
  // None where the program printed to a terminal.
  const QString log = end->lastLines.empty() ? QString() : tr("The log has its last lines.");
  const QString record =
      opsMayTell ? tr(" Record again, with every op recorded, to see where it ends.") : QString();
  if (exited) {
    endTitle_->setText(tr("The run ended with exit code %1").arg(end->exitCode));
    endText_->setText(what + log + record);
    return;
  }
  const QString name = text(analysis::signalName(*end));
  endTitle_->setText(name.isEmpty()
                         ? tr("The run was ended by signal %1").arg(end->signal)
                         : tr("The run was ended by signal %1 (%2)").arg(end->signal).arg(name));
  constexpr int kKill = 9;  // POSIX says so
  if (end->signal == kKill) {
    endText_->setText(what + tr("The process was killed, by a user or by the system, which does so "
                                "where memory is short. Look at the memory before the end and at "
                                "the log, then record again; with a smaller batch if memory was "
                                "short."));
  } else if (isCrash(name)) {
    endText_->setText(what + tr("The process crashed. ") + log + record);
  } else {
    endText_->setText(what + log);
  }
}

QStringList changeLines(const analysis::RunChange& change) {
  const auto tr = [](const char* text) { return FindingsPanel::tr(text); };
  const auto within = [&](const analysis::ComparedValue& value) {
    return value.beyondNoise() ? QString() : tr(", within the noise");
  };
  QStringList lines{text(change.text)};
  if (change.sameTokens) {
    const double ms = change.stepMs.change();
    lines << tr("%1 → %2 a step, %3 ms (± %4)%5")
                 .arg(text(formatMs(change.stepMs.a)), text(formatMs(change.stepMs.b)),
                      signedText(ms, QString::number(std::abs(ms), 'f', 1)))
                 .arg(change.stepMs.noise, 0, 'f', 1)
                 .arg(within(change.stepMs));
  } else if (change.tokensPerS.a > 0) {
    const double share = change.tokensPerS.change() / change.tokensPerS.a;
    const double noise = change.tokensPerS.noise / change.tokensPerS.a;
    lines << tr("%1 → %2 %3, %4 % (± %5)%6")
                 .arg(text(formatRate(change.tokensPerS.a)), text(formatRate(change.tokensPerS.b)),
                      text(change.rateUnit),
                      signedText(share, QString::number(std::abs(share) * 100, 'f', 0)))
                 .arg(noise * 100, 0, 'f', 0)
                 .arg(within(change.tokensPerS));
  } else {
    lines << tr("%1 → %2 a step, of unknown sizes")
                 .arg(text(formatMs(change.stepMs.a)), text(formatMs(change.stepMs.b)));
  }
  if (const auto& driver = change.driverPeakBytes; driver.a > 0 && driver.change() != 0) {
    lines << tr("driver peak %1 → %2").arg(bytesText(driver.a), bytesText(driver.b));
  }
  for (const Finding& gone : change.gone) {
    lines << tr("gone: %1 (predicted to save %2)").arg(text(gone.title), text(gone.gain));
  }
  return lines;
}

void FindingsPanel::showChanges(const std::vector<analysis::RunChange>& changes) {
  QList<QStringList> lines;
  for (const analysis::RunChange& each : changes) {
    lines << changeLines(each);
    lines.back() << tr("%1 steps before, %2 after, from step %3 on")
                        .arg(each.stepsBefore)
                        .arg(each.stepsAfter)
                        .arg(each.firstStep);
  }
  changesTitle_->setVisible(!lines.isEmpty());
  changesBox_->setVisible(!lines.isEmpty());
  if (lines == changes_) return;
  changes_ = lines;
  while (QLayoutItem* item = changesBox_->layout()->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  for (const QStringList& each : lines) {
    auto* entry = new QWidget(changesBox_);
    auto* column = new QVBoxLayout(entry);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    for (qsizetype i = 0; i < each.size(); ++i) {
      auto* line = plainLabel(entry, i == 0 ? "value" : i + 1 == each.size() ? "quiet" : "plain");
      line->setText(each[i]);
      column->addWidget(line);
    }
    changesBox_->layout()->addWidget(entry);
  }
}

void FindingsPanel::showAccepted(const std::vector<AcceptedFallback>& accepted) {
  acceptedTitle_->setVisible(!accepted.empty());
  acceptedBox_->setVisible(!accepted.empty());
  const auto same = [](const AcceptedFallback& a, const AcceptedFallback& b) {
    return a.op == b.op && a.reason == b.reason && a.count == b.count;
  };
  if (std::equal(accepted.begin(), accepted.end(), accepted_.begin(), accepted_.end(), same)) {
    return;
  }
  accepted_ = accepted;
  while (QLayoutItem* item = acceptedColumn_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  for (const AcceptedFallback& each : accepted) {
    auto* entry = new QWidget(acceptedBox_);
    auto* column = new QVBoxLayout(entry);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    auto* head = new QHBoxLayout;
    auto* op = plainLabel(entry, "value");
    op->setText(text(each.op));
    auto* withdraw = linkButton(tr("Withdraw"), "withdrawButton", entry);
    withdraw->setToolTip(tr("Withdraw the acceptance: the fallback becomes a finding again"));
    const QString name = text(each.op);
    // Queued, because the handler deletes this button.
    connect(
        withdraw, &QToolButton::clicked, this, [this, name] { emit withdrawRequested(name); },
        Qt::QueuedConnection);
    head->addWidget(op, 1);
    head->addWidget(withdraw);
    column->addLayout(head);
    auto* why = plainLabel(entry, "plain");
    why->setText(each.reason.empty() ? tr("No reason given") : text(each.reason));
    column->addWidget(why);
    auto* cost = plainLabel(entry, "quiet");
    cost->setText(tr("%1 a step, %2×").arg(text(formatMs(each.costMs))).arg(each.count));
    column->addWidget(cost);
    acceptedColumn_->addWidget(entry);
  }
}

}  // namespace highwater::views
