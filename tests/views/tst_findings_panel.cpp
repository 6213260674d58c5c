#include <QLabel>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panels/banner.h"
#include "views/panels/finding_example.h"
#include "views/panels/findings_panel.h"

using namespace highwater;
using namespace highwater::views;
using analysis::Finding;
using analysis::FindingKind;
using analysis::Findings;

namespace {

Finding fallback(double weight) {
  Finding finding;
  finding.kind = FindingKind::Fallback;
  finding.title = "Fallback: <b>aten::x</b>";
  finding.evidence = "10 waits, 1 ms on average, in all 10 steps";
  finding.advice = "use another op";
  finding.weight = weight;
  finding.waitsMs = 12.5;
  finding.firstStep = 2;
  finding.lastStep = 60;
  finding.count = 10;
  finding.ops = {"aten::embedding_renorm_"};
  finding.where = "forward, embedding";
  return finding;
}

QStringList textsOf(const QWidget& widget) {
  QStringList texts;
  for (const QLabel* label : widget.findChildren<QLabel*>()) {
    // Lines are not broken between a number and its unit.
    if (label->isVisibleTo(&widget)) texts << label->text().replace(QChar(0x00A0), QChar(' '));
  }
  return texts;
}

}  // namespace

class TestFindingsPanel : public QObject {
  Q_OBJECT

 private slots:
  void aLineNeitherPartsNumberAndUnitNorFileAndLine() {
    Finding finding;
    finding.kind = FindingKind::NearLimit;
    finding.title = "driver memory reaches 96 % of 92.0 MiB";
    finding.advice = "at model.cpp:22: use less";
    finding.evidence = "3 steps";
    FindingCard card;
    card.showFinding(finding);
    QStringList texts;
    for (const QLabel* label : card.findChildren<QLabel*>()) texts << label->text();
    QVERIFY(texts.contains(QString::fromUtf8("driver memory reaches 96\u00a0% of 92.0\u00a0MiB")));
    QVERIFY(texts.contains(QString::fromUtf8("To do: at model.cpp:\u206022: use less")));
    QVERIFY(texts.contains(QStringLiteral("3 steps")));
    QVERIFY(card.asText().contains(QStringLiteral("reaches 96 % of 92.0 MiB")));
    QVERIFY(card.asText().contains(QStringLiteral("model.cpp:22")));
  }

  /// Else a name that is longer than the panel would be cut, and all lines with it.
  void aLongNameIsPartedAfterItsDots() {
    Finding finding;
    finding.kind = FindingKind::NearLimit;
    finding.title = "a title";
    finding.advice = "take it";
    FindingCard card;
    card.showFinding(finding);
    const int least = card.minimumSizeHint().width();
    finding.advice = "take torch.nn.utils.parametrizations.weight_norm";
    card.showFinding(finding);
    QVERIFY2(card.minimumSizeHint().width() < least + 100,
             qPrintable(QString::number(card.minimumSizeHint().width() - least)));
    QVERIFY(card.asText().contains(QStringLiteral("torch.nn.utils.parametrizations.weight_norm")));
  }

  void theVerdictComesFirst() {
    FindingsPanel panel;
    const auto* verdict = panel.findChild<QLabel*>(QStringLiteral("verdict"));
    QVERIFY(verdict && !verdict->isVisibleTo(&panel));
    Findings findings;
    findings.steps = 40;
    findings.verdict.text = "The device is the bottleneck: it is busy for 93 to 99 % of a step.";
    findings.found = {fallback(0.3)};
    panel.showFindings(findings, true);
    QCOMPARE(textsOf(panel).first(), QString::fromStdString(findings.verdict.text));
    // Only the first sentence is a title.
    findings.verdict.text += " By sizes, its largest work is train.py:48.";
    panel.showFindings(findings, true);
    QVERIFY2(verdict->text().endsWith("of a step."), qPrintable(verdict->text()));
    const auto* why = panel.findChild<QLabel*>(QStringLiteral("verdictDetails"));
    QVERIFY(why->isVisibleTo(&panel));
    QVERIFY2(why->text().startsWith("By sizes, its largest work"), qPrintable(why->text()));
    QVERIFY(why->property("kind") != verdict->property("kind"));
    panel.showFindings({}, true);
    QVERIFY(!verdict->isVisibleTo(&panel));
  }

  void severityHasAWord() {
    QCOMPARE(severityWord(severityOf(fallback(0.3))), QString("major"));
    QCOMPARE(severityWord(severityOf(fallback(0.1))), QString("moderate"));
    QCOMPARE(severityWord(severityOf(fallback(0.02))), QString("minor"));
  }

  void saysWhatAChangeDid() {
    analysis::RunChange change;
    change.text = "loss interval 1 → 10";
    change.firstStep = 21;
    change.stepsBefore = 19;
    change.stepsAfter = 30;
    change.stepMs = {45, 20, 1.5};
    change.driverPeakBytes = {100, 100};
    change.rateUnit = "samples/s";
    change.gone = {fallback(0.3)};
    change.gone.front().gain = "about 20.0 ms a step (10.0 ms to 30.0 ms)";
    FindingsPanel panel;
    panel.showChanges({change});
    const QStringList texts = textsOf(panel);
    QVERIFY(texts.contains("Changed in this run"));
    QVERIFY(texts.contains("loss interval 1 → 10"));
    QVERIFY2(texts.contains("45.0 ms → 20.0 ms a step, −25.0 ms (± 1.5)"),
             qPrintable(texts.join('\n')));
    QVERIFY2(
        texts.contains("gone: Fallback: <b>aten::x</b> (predicted to save about 20.0 ms a step "
                       "(10.0 ms to 30.0 ms))"),
        qPrintable(texts.join('\n')));
    QVERIFY(texts.contains("19 steps before, 30 after, from step 21 on"));
    QVERIFY(texts.filter("driver").isEmpty());
    // Another batch or length: only the throughput compares.
    change.sameTokens = false;
    change.tokensPerS = {1000, 1100, 200};
    QCOMPARE(changeLines(change)[1], QString("1.0k → 1.1k samples/s, +10 % (± 20), within the "
                                             "noise"));
    change.tokensPerS = {};
    QVERIFY(changeLines(change)[1].endsWith("of unknown sizes"));
    panel.showChanges({});
    QVERIFY(!textsOf(panel).contains("Changed in this run"));
  }

  void aCardKeepsLongEvidenceBehindMore() {
    FindingsPanel panel;
    panel.show();
    Findings findings;
    findings.steps = 30;
    Finding finding = fallback(0.3);
    finding.title = "Fallback: aten::x blocks the host, 3 ms a step";
    finding.gainMs = analysis::Gain{1, 1, 1};
    finding.gain = "1 ms a step";
    finding.evidence = "10 times (an estimate; medians), most in forward";
    const std::string details =
        "; 7 device switches a step, so often the work goes from host to CPU";
    finding.evidence += details;
    findings.found = {finding};
    panel.showFindings(findings, true);
    FindingCard* card = panel.cards().front();
    QVERIFY(textsOf(*card).contains("Fallback: aten::x blocks the host, 3 ms a step"));
    QVERIFY(textsOf(*card).contains("10 times (an estimate; medians), most in forward"));
    QVERIFY(card->asText().contains("Fixing it saves 1 ms a step"));
    QVERIFY(card->asText().contains("7 device switches"));
    auto* more = card->findChild<QToolButton*>("moreEvidenceButton");
    QTest::mouseClick(more, Qt::LeftButton);
    QVERIFY(textsOf(*card).contains(QString::fromStdString(finding.evidence)));
    panel.showFindings(findings, true);  // the next check finds the same
    QVERIFY(textsOf(*card).contains(QString::fromStdString(finding.evidence)));
    QTest::mouseClick(more, Qt::LeftButton);
    QVERIFY(!textsOf(*card).contains(QString::fromStdString(finding.evidence)));
    findings.found = {fallback(0.3)};
    panel.showFindings(findings, true);
    QVERIFY(!more->isVisible());
  }

  void aCardKeepsTheBoundsOfAGainBehindMore() {
    FindingsPanel panel;
    panel.show();
    Findings findings;
    findings.steps = 30;
    Finding finding = fallback(0.3);
    finding.gainMs = {1, 3, 5};
    finding.gain = "about 3.00 ms a step (1.00 ms to 5.00 ms)";
    findings.found = {finding};
    panel.showFindings(findings, true);
    FindingCard* card = panel.cards().front();
    QVERIFY(textsOf(*card).contains("saves about 3.00 ms a step"));
    auto* more = card->findChild<QToolButton*>("moreEvidenceButton");
    QVERIFY(!more->isHidden());
    QTest::mouseClick(more, Qt::LeftButton);
    QVERIFY(textsOf(*card).contains(
        "10 waits, 1 ms on average, in all 10 steps\nFixing it saves about 3.00 ms a step "
        "(1.00 ms to 5.00 ms)"));
    // One that is known exactly has nothing more to say.
    findings.found.front().gainMs = {3, 3, 3};
    panel.showFindings(findings, true);
    QVERIFY(more->isHidden());
    QVERIFY(textsOf(*card).contains("10 waits, 1 ms on average, in all 10 steps"));
  }

  void aCardSaysWhatItCostsAndWhere() {
    FindingsPanel panel;
    Findings findings;
    findings.steps = 30;
    findings.found = {fallback(0.3), fallback(0.02)};
    panel.showFindings(findings, true);
    QCOMPARE(panel.cards().size(), std::size_t{2});
    const QStringList texts = textsOf(*panel.cards().front());
    for (const char* text : {"major", "12.5 ms a step", "In forward, embedding",
                             "10 waits, 1 ms on average, in all 10 steps",
                             "To do: use another op (Accept… below)", "Fallback: <b>aten::x</b>"}) {
      QVERIFY2(texts.contains(QString::fromUtf8(text)), text);
    }
    for (const QLabel* label : panel.findChildren<QLabel*>()) {
      QCOMPARE(label->textFormat(), Qt::PlainText);
    }
    panel.resize(288, 400);
    QVERIFY(panel.minimumSizeHint().width() <= 288);
    QVERIFY(!panel.grab().isNull());
    QSignalSpy picked(&panel, &FindingsPanel::findingPicked);
    QTest::mouseClick(panel.cards().back(), Qt::LeftButton);
    QCOMPARE(picked.count(), 1);
    QCOMPARE(picked.first().first().value<Finding>().weight, 0.02);
    QSignalSpy accept(&panel, &FindingsPanel::acceptRequested);
    panel.cards().front()->findChild<QToolButton*>("acceptFallbackButton")->click();
    QCOMPARE(accept.first().first().toString(), QString("aten::embedding_renorm_"));
  }

  void onlyFallbacksCanBeAccepted() {
    FindingsPanel panel;
    Findings findings;
    findings.steps = 30;
    findings.found = {fallback(0.3)};
    findings.found[0].kind = FindingKind::MemoryGrowth;
    panel.showFindings(findings, true);
    const auto* button = panel.cards().front()->findChild<QToolButton*>("acceptFallbackButton");
    QVERIFY(!button->isVisibleTo(&panel));
  }

  void nothingFoundSaysWhatThatMeans() {
    FindingsPanel panel;
    const auto* empty = panel.findChild<QLabel*>(QStringLiteral("noFindings"));
    QVERIFY(empty->isVisibleTo(&panel));
    Findings findings;
    panel.showFindings(findings, true);
    QVERIFY(empty->text().contains("Waiting for more steps"));
    findings.steps = 40;
    panel.showFindings(findings, true);
    QVERIFY(textsOf(panel).contains("No findings"));
    QVERIFY(empty->text().contains("In 40 steps"));
    findings.unobserved = true;
    panel.showFindings(findings, true);
    QVERIFY(empty->text().contains("not looked for"));
    QVERIFY(!empty->text().contains("no fallback"));
    findings.unobserved = false;
    findings.found = {fallback(0.3)};
    panel.showFindings(findings, true);
    QVERIFY(!empty->isVisibleTo(&panel));
    findings.found.clear();
    panel.showFindings(findings, true);
    QVERIFY(panel.cards().empty() && empty->isVisibleTo(&panel));
  }

  void acceptedOnesKeepTheirReason() {
    FindingsPanel panel;
    Findings findings;
    findings.steps = 30;
    findings.accepted = {{"aten::gelu", "once an epoch", 4, 0.5}};
    panel.showFindings(findings, true);
    QVERIFY(textsOf(panel).contains("aten::gelu"));
    QVERIFY(textsOf(panel).contains("once an epoch"));
    QVERIFY(textsOf(panel).contains("0.50 ms a step, 4×"));
    QSignalSpy withdraw(&panel, &FindingsPanel::withdrawRequested);
    panel.findChild<QToolButton*>(QStringLiteral("withdrawButton"))->click();
    QTRY_COMPARE(withdraw.count(), 1);
    QCOMPARE(withdraw.first().first().toString(), QString("aten::gelu"));
    panel.showFindings({}, true);
    QVERIFY(!panel.findChild<QToolButton*>(QStringLiteral("withdrawButton")));
  }

  void saysHowARunEndedThatWasKilled() {
    FindingsPanel panel;
    RunEnd end;
    end.reason = RunEnd::Reason::kCrashed;
    end.signal = 9;
    end.message = "highwater-worker was killed by signal 9 (SIGKILL) in step 85";
    panel.showEnd(end);
    panel.showFindings({}, true, true);
    const QStringList killed = textsOf(panel);
    QVERIFY2(killed.contains("The run was ended by signal 9 (SIGKILL)"),
             qPrintable(killed.join('|')));
    QVERIFY(killed.join('|').contains("in step 85. The process was killed, by a user or"));
    QVERIFY(killed.join('|').contains("record again"));
    end.reason = RunEnd::Reason::kExited;
    end.signal = 0;
    end.exitCode = 3;
    panel.showEnd(end);
    QVERIFY(textsOf(panel).contains("The run ended with exit code 3"));
    // Also beside findings; nothing of a run that ended as planned.
    Findings findings;
    findings.found = {fallback(0.3)};
    panel.showFindings(findings, true, true);
    QVERIFY(textsOf(panel).contains("The run ended with exit code 3"));
    for (const auto reason : {RunEnd::Reason::kFinished, RunEnd::Reason::kStopped}) {
      end.reason = reason;
      panel.showEnd(end);
      QVERIFY(!textsOf(panel).join('|').contains("The run ended"));
    }
    panel.showEnd(std::nullopt);
    QVERIFY(!textsOf(panel).join('|').contains("The run ended"));
  }

  /// By the name of the signal: on a Mac 10 is SIGBUS, on Linux SIGUSR1.
  void onlyACrashIsCalledOne() {
    const auto textOf = [](int signal, const char* name, bool opsMayTell) {
      FindingsPanel panel;
      RunEnd end;
      end.reason = RunEnd::Reason::kCrashed;
      end.signal = signal;
      end.message = "train was killed by signal " + std::to_string(signal) + name + " in step 2";
      end.lastLines = "last words";
      panel.showEnd(end, opsMayTell);
      panel.showFindings({}, true, true);
      return textsOf(panel).join('|');
    };
    for (const auto& [signal, name] :
         {std::pair(11, " (SIGSEGV)"), std::pair(10, " (SIGBUS)"), std::pair(6, " (SIGABRT)")}) {
      const QString shown = textOf(signal, name, true);
      QVERIFY2(shown.contains("The process crashed. The log has its last lines. Record again"),
               qPrintable(shown));
      QVERIFY(!textOf(signal, name, false).contains("Record again"));
    }
    const QString asked = textOf(15, " (SIGTERM)", true);
    QVERIFY2(asked.contains("The run was ended by signal 15 (SIGTERM)|"), qPrintable(asked));
    const QString other = textOf(10, "", true);
    QVERIFY2(other.contains("The run was ended by signal 10|"), qPrintable(other));
    for (const QString& each : {asked, other}) {
      QVERIFY(each.contains("in step 2. The log has its last lines."));
      QVERIFY(!each.contains("crashed") && !each.contains("Record again"));
    }
  }

  void anExitCodePointsToTheLog() {
    FindingsPanel panel;
    RunEnd end;
    end.reason = RunEnd::Reason::kExited;
    end.exitCode = 1;
    end.message = "train.py ended with exit code 1 before it trained";
    end.lastLines = "last words";
    panel.showEnd(end, false);
    panel.showFindings({}, true, true);
    QString shown = textsOf(panel).join('|');
    QVERIFY2(shown.contains("before it trained. The log has its last lines."), qPrintable(shown));
    QVERIFY(!shown.contains("last step") && !shown.contains("Record again"));
    panel.showEnd(end);
    shown = textsOf(panel).join('|');
    QVERIFY2(shown.contains("last lines. Record again, with every op"), qPrintable(shown));
    // What a program prints to its terminal is in no log.
    end.lastLines.clear();
    panel.showEnd(end, false);
    QVERIFY(!textsOf(panel).join('|').contains("The log"));
  }

  void examplesAreTheCostliest() {
    analysis::LiveStore store;
    test::feed(test::makeSampleRun(), store);
    const auto found = analysis::findProblems(store).found;
    const auto fallback = std::find_if(found.begin(), found.end(), [](const Finding& each) {
      return each.kind == FindingKind::Fallback;
    });
    QVERIFY(fallback != found.end());
    const auto example = exampleOf(store, *fallback);
    QVERIFY(example && example->event);
    QCOMPARE(example->event->lane, Lane::kFallbacks);
    const auto& chosen = store.fallbacks()[example->event->index];
    for (const auto& each : store.fallbacks()) QVERIFY(each.duration_ns() <= chosen.duration_ns());
    QVERIFY(example->range.beginNs <= chosen.begin_ns());
    QVERIFY(example->range.endNs >= chosen.begin_ns() + chosen.duration_ns());

    Finding growth;
    growth.kind = FindingKind::MemoryGrowth;
    growth.firstStep = 2;
    growth.lastStep = 60;
    const auto trend = exampleOf(store, growth);
    QVERIFY(trend && !trend->event);
    QCOMPARE(trend->range.beginNs, store.steps().records[1].begin_ns());
    growth.firstStep = growth.lastStep = 1000;
    QVERIFY(!exampleOf(store, growth));

    Finding swings;
    swings.kind = FindingKind::StepTimeSwings;
    swings.firstStep = 2;
    swings.lastStep = 60;
    const auto slowest = exampleOf(store, swings);
    QVERIFY(slowest && slowest->event);
    QCOMPARE(slowest->event->lane, Lane::kSteps);
    const auto& steps = store.steps().records;
    for (std::size_t i = 1; i < steps.size(); ++i) {
      QVERIFY(steps[i].duration_ns() <= steps[slowest->event->index].duration_ns());
    }
  }

  /// The gain stands beside the severity; a gain within the noise is minor, whatever the wait.
  void aCardShowsWhatAFixGains() {
    Finding finding = fallback(0.5);
    finding.gainMs = analysis::Gain{5, 7.02, 8};
    FindingCard card;
    card.showFinding(finding);
    QVERIFY(textsOf(card).contains(QStringLiteral("saves 7.02 ms a step")));
    finding.gainMs->low = 0;  // it may be nothing, but is no reason for another number
    card.showFinding(finding);
    QVERIFY(textsOf(card).contains(QStringLiteral("saves about 7.02 ms a step")));
    finding.gainMs->estimate = finding.gainMs->high;
    card.showFinding(finding);
    QVERIFY(textsOf(card).contains(QStringLiteral("saves up to 8.00 ms a step")));
    finding.gainMs->estimate = 7.02;
    card.showFinding(finding);
    finding.gainMs->estimate = 0;
    card.showFinding(finding);
    QVERIFY(textsOf(card).contains(QStringLiteral("saves up to 8.00 ms a step")));
    QCOMPARE(severityOf(finding), Severity::kMajor);
    finding.withinNoise = true;
    QCOMPARE(severityOf(finding), Severity::kMinor);
  }

  void aLongBannerIsCut() {
    Banner banner;
    banner.resize(500, 40);
    const QString message = QStringLiteral("one two three four five ").repeated(30).trimmed();
    banner.showMessage(message, false, Banner::Kind::kProblem, {});
    QCOMPARE(banner.message(), message);
    const auto* label = banner.findChild<QLabel*>(QStringLiteral("endBannerMessage"));
    QVERIFY(label->text().endsWith(QStringLiteral(" …")));
    QVERIFY(label->height() <= 2 * label->fontMetrics().lineSpacing() + 2);
    QCOMPARE(label->toolTip(), message);
    QVERIFY(banner.findChild<QToolButton*>(QStringLiteral("endBannerLines"))->isVisible());
    // All of it by a click, also without a mouse that rests.
    auto* more = banner.findChild<QToolButton*>(QStringLiteral("moreBannerButton"));
    QCOMPARE(more->text(), QString("More"));
    banner.resize(800, 40);
    QVERIFY(label->text().endsWith(QStringLiteral(" …")));
    QTest::mouseClick(more, Qt::LeftButton);
    QCOMPARE(label->text(), message);
    const int needed =
        label->fontMetrics()
            .boundingRect(QRect(0, 0, label->width(), 10'000), Qt::TextWordWrap, message)
            .height();
    QVERIFY(label->height() >= needed);
    QCOMPARE(more->text(), QString("Less"));
    QTest::mouseClick(more, Qt::LeftButton);
    QVERIFY(label->text().endsWith(QStringLiteral(" …")));
    banner.showMessage(QStringLiteral("short"), false, Banner::Kind::kProblem, {});
    QCOMPARE(label->text(), QString("short"));
    QVERIFY(!more->isVisible());
    QVERIFY(!banner.findChild<QToolButton*>(QStringLiteral("endBannerLines"))->isVisible());
  }
};

HIGHWATER_TEST(TestFindingsPanel, QApplication)
#include "tst_findings_panel.moc"
