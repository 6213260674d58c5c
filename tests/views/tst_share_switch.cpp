// The share of time by phase in the selection, as host time or as device time.
#include <QApplication>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "support/test_program.h"
#include "views/panels/selection_panel.h"
#include "views/theme.h"

using namespace highwater;
using namespace highwater::views;
using events::Phase;

namespace {

analysis::RunSummary summaryOf(double moveMs, double forwardMs) {
  analysis::RunSummary summary;
  summary.steps = 10;
  summary.firstStep = 1;
  summary.lastStep = 10;
  summary.stepsMs = 10 * (moveMs + forwardMs);
  summary.phaseMs[static_cast<std::size_t>(Phase::DeviceMove)] = 10 * moveMs;
  summary.phaseMs[static_cast<std::size_t>(Phase::Forward)] = 10 * forwardMs;
  return summary;
}

analysis::DeviceShare shareOf(double forwardMs, double idleMs) {
  analysis::DeviceShare share;
  share.steps = 10;
  share.stepMs = forwardMs + idleMs;
  share.idleMs = idleMs;
  share.parts.push_back({{Phase::Forward}, forwardMs * 0.8, forwardMs, forwardMs * 1.2});
  return share;
}

int count(const QWidget& widget, const QColor& color) {
  const QImage image = const_cast<QWidget&>(widget).grab().toImage();
  int pixels = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) pixels += image.pixelColor(x, y) == color;
  }
  return pixels;
}

}  // namespace

class TestShareSwitch : public QObject {
  Q_OBJECT

 private slots:
  void noWordIsCutInANarrowPanel() {
    SelectionPanel panel;
    panel.showNumbers({.summary = summaryOf(10, 30), .rate = QStringLiteral("1.0k tokens/s")});
    panel.show();
    for (int width = 264; width <= 360; width += 4) {
      panel.resize(width, 420);
      QApplication::processEvents();
      for (const char* name : {"hostTimeButton", "deviceTimeButton"}) {
        const auto* button = panel.findChild<QToolButton*>(QLatin1String(name));
        QVERIFY(button->width() >= button->sizeHint().width());
        const int right = button->mapTo(&panel, button->rect().topRight()).x();
        QVERIFY(right < button->parentWidget()->geometry().right() + 1);
      }
    }
  }

  void initTestCase() {
    QApplication::setPalette(Theme::dark().palette());
    qApp->setStyleSheet(Theme::dark().styleSheet());
  }

  void theChoiceShowsWhereTheDeviceWorks() {
    SelectionPanel panel;
    panel.resize(328, 500);
    panel.showNumbers({.summary = summaryOf(88, 12), .rate = QStringLiteral("1k")});
    panel.show();
    QVERIFY(QTest::qWaitForWindowExposed(&panel, test::kWaitMs));
    auto* host = panel.findChild<QToolButton*>("hostTimeButton");
    auto* device = panel.findChild<QToolButton*>("deviceTimeButton");
    QVERIFY(host->isVisible() && device->isVisible());
    QVERIFY(!panel.showsDeviceTime());
    const Theme& theme = Theme::dark();
    const int sky = count(panel, theme.phase(events::Phase::DeviceMove)),
              blue = count(panel, theme.phase(events::Phase::Forward));
    QVERIFY(sky > 5 * blue);  // the host is in the device move
    connect(&panel, &SelectionPanel::deviceTimeChosen, &panel,
            [&panel] { panel.showDeviceShare(shareOf(90, 10)); });
    QTest::mouseClick(device, Qt::LeftButton);
    QVERIFY(panel.showsDeviceTime());
    QVERIFY(count(panel, theme.phase(events::Phase::Forward)) > 10 * blue / 2);
    QCOMPARE(count(panel, theme.phase(events::Phase::DeviceMove)), 0);
    QVERIFY(device->isChecked() && !host->isChecked());
    QTest::mouseClick(host, Qt::LeftButton);
    QVERIFY(!panel.showsDeviceTime());
    QCOMPARE(count(panel, theme.phase(events::Phase::DeviceMove)), sky);
  }

  void theKeyboardChoosesToo() {
    SelectionPanel panel;
    panel.resize(328, 500);
    panel.showNumbers({.summary = summaryOf(88, 12), .rate = QStringLiteral("1k")});
    panel.show();
    QVERIFY(QTest::qWaitForWindowExposed(&panel, test::kWaitMs));
    QSignalSpy spy(&panel, &SelectionPanel::deviceTimeChosen);
    auto* device = panel.findChild<QToolButton*>("deviceTimeButton");
    device->setFocus(Qt::TabFocusReason);
    QTest::keyClick(device, Qt::Key_Space);
    QCOMPARE(spy.count(), 1);
    QVERIFY(panel.showsDeviceTime());
  }

  void whatIsNotKnownIsSaid() {
    SelectionPanel panel;
    panel.resize(328, 500);
    panel.showNumbers({.summary = summaryOf(88, 12), .rate = QStringLiteral("1k")});
    panel.show();
    QVERIFY(QTest::qWaitForWindowExposed(&panel, test::kWaitMs));
    QTest::mouseClick(panel.findChild<QToolButton*>("deviceTimeButton"), Qt::LeftButton);
    analysis::DeviceShare share;
    share.unknown = "The CPU has no queue";
    panel.showDeviceShare(share);
    QCOMPARE(count(panel, Theme::dark().sky) + count(panel, Theme::dark().blue), 0);
    const QImage said = panel.grab().toImage();
    share.unknown = "x";
    panel.showDeviceShare(share);
    QVERIFY(panel.grab().toImage() != said);
  }
};

HIGHWATER_TEST(TestShareSwitch, QApplication)
#include "tst_share_switch.moc"
