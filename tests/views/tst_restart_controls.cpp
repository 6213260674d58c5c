#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "support/active_window.h"
#include "support/test_program.h"
#include "views/panels/restart_controls.h"

using namespace highwater;
using views::RestartControls;

namespace {

struct Hands {
  RestartControls controls;
  QSignalSpy restarts{&controls, &RestartControls::restartRequested};
  QSignalSpy changes{&controls, &RestartControls::changed};
  QDoubleSpinBox* high = controls.findChild<QDoubleSpinBox*>(QStringLiteral("highWatermarkSpin"));
  QDoubleSpinBox* low = controls.findChild<QDoubleSpinBox*>(QStringLiteral("lowWatermarkSpin"));
  QComboBox* device = controls.findChild<QComboBox*>(QStringLiteral("restartDeviceList"));
  QCheckBox* fallback = controls.findChild<QCheckBox*>(QStringLiteral("fallbackCheck"));
  QToolButton* restart = controls.findChild<QToolButton*>(QStringLiteral("restartButton"));
  QToolButton* undo = controls.findChild<QToolButton*>(QStringLiteral("undoRestartButton"));

  explicit Hands(bool live) {
    controls.setInUse({"cpu", true, 1.0, 0.5});
    controls.setInUse({"sim", false, 1.7, 1.4});
    controls.setLive(live);
    controls.show();
    test::makeActive(controls);
  }
  static void type(QDoubleSpinBox* spin, const QString& value) {
    spin->setFocus();
    spin->selectAll();
    QTest::keyClicks(spin, value);
    QTest::keyClick(spin, Qt::Key_Return);
  }
};

}  // namespace

class TestRestartControls : public QObject {
  Q_OBJECT

 private slots:
  void showsWhatIsInUse() {
    Hands hands(true);
    QCOMPARE(hands.controls.settings(), (RestartSettings{"sim", false, 1.7, 1.4}));
    // A device that this machine does not have, of a recording from elsewhere.
    hands.controls.setInUse({"cuda", true, 0, 0});
    QCOMPARE(hands.controls.settings(), (RestartSettings{"cuda", true, 0, 0}));
    QCOMPARE(hands.high->text(), QString("no limit"));
    QCOMPARE(hands.low->text(), QString("off"));
    QVERIFY(!hands.restart->isVisible());
    QCOMPARE(hands.changes.count(), 0);
  }

  void restartsOnlyByItsButton() {
    Hands hands(true);
    hands.type(hands.high, "1.5");
    QVERIFY(hands.restart->isVisible());
    QCOMPARE(hands.restarts.count(), 0);
    // What is in use is told again, as four times a second: the choice stays.
    hands.controls.setInUse({"sim", false, 1.7, 1.4});
    QCOMPARE(hands.high->value(), 1.5);
    QTest::mouseClick(hands.restart, Qt::LeftButton);
    QCOMPARE(hands.restarts.count(), 1);
    QCOMPARE(hands.restarts[0][0].value<RestartSettings>(),
             (RestartSettings{"sim", false, 1.5, 1.4}));
    QCOMPARE(hands.changes.count(), 0);
    hands.controls.setInUse({"sim", false, 1.5, 1.4});
    QVERIFY(!hands.restart->isVisible());
  }

  void returnsToWhatIsInUse() {
    Hands hands(true);
    QTest::keyClick(hands.fallback, Qt::Key_Space);
    QVERIFY(hands.undo->isVisible());
    QTest::mouseClick(hands.undo, Qt::LeftButton);
    QVERIFY(!hands.fallback->isChecked() && !hands.undo->isVisible());
    hands.type(hands.low, "0.2");
    QTest::keyClick(hands.low, Qt::Key_Escape);
    QCOMPARE(hands.low->value(), 1.4);
    hands.type(hands.low, "0.2");
    hands.controls.setLive(false);  // the run has ended
    QCOMPARE(hands.low->value(), 1.4);
  }

  void keepsTheLowWatermarkBelowTheHighOne() {
    Hands hands(true);
    hands.type(hands.high, "1");
    QCOMPARE(hands.low->value(), 1.0);
    hands.type(hands.low, "1.3");
    QCOMPARE(hands.low->value(), 1.0);
    hands.type(hands.high, "0");  // no limit
    QCOMPARE(hands.low->value(), 1.0);
    hands.type(hands.low, "1.3");
    QCOMPARE(hands.low->value(), 1.3);
  }

  void tellsWhatTheNextRunStartsWith() {
    Hands hands(false);
    hands.type(hands.high, "1.5");
    QVERIFY(!hands.restart->isVisible());
    QCOMPARE(hands.restarts.count(), 0);
    QVERIFY(!hands.changes.isEmpty());
    QCOMPARE(hands.changes.last()[0].value<RestartSettings>(),
             (RestartSettings{"sim", false, 1.5, 1.4}));
  }

  void hasNoUseForMpsOnTheCpu() {
    Hands hands(true);
    hands.device->setFocus();
    QTest::keyClick(hands.device, Qt::Key_C);  // not the last one where there is no simulation
    QCOMPARE(hands.device->currentText(), QString("cpu"));
    QVERIFY(hands.device->isEnabled() && !hands.high->isEnabled() && !hands.low->isEnabled() &&
            !hands.fallback->isEnabled());
    hands.controls.setChangeable(false);
    QVERIFY(!hands.device->isEnabled() && !hands.restart->isVisible());
  }
};

HIGHWATER_TEST(TestRestartControls, QApplication)
#include "tst_restart_controls.moc"
