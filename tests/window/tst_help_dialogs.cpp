#include <QClipboard>
#include <QDialog>
#include <QGuiApplication>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTest>

#include "support/test_program.h"
#include "window/help_dialogs.h"

using namespace highwater;
using highwater::test::kWaitMs;

class TestHelpDialogs : public QObject {
  Q_OBJECT

 private:
  /// The text of the dialog, once the program has answered.
  static QString answerOf(QWidget& parent) {
    const auto* shown = parent.findChild<QPlainTextEdit*>("doctorText");
    if (!shown || !parent.findChild<QDialog*>("doctorDialog")->isVisible()) return {};
    const QString asking = shown->toPlainText();
    (void)QTest::qWaitFor([&] { return shown->toPlainText() != asking; }, kWaitMs);
    return shown->toPlainText();
  }

 private slots:
  void showsWhatTheDoctorSays() {
    QWidget parent;
    parent.show();
    window::showDoctorDialog(&parent, QStringLiteral(HIGHWATER_BIN_DIR "/highwater"));
    const QString answer = answerOf(parent);
    QVERIFY2(answer.contains("highwater ") && answer.contains("Qt"), qPrintable(answer));
    for (auto* button : parent.findChildren<QPushButton*>()) {
      if (button->text() == "Copy") QTest::mouseClick(button, Qt::LeftButton);
    }
    QCOMPARE(QGuiApplication::clipboard()->text(), answer);
  }

  void saysWhyItCannot() {
    QWidget parent;
    parent.show();
    window::showDoctorDialog(&parent, QStringLiteral("/no/such/highwater"));
    const QString answer = answerOf(parent);
    QVERIFY2(answer.contains("/no/such/highwater cannot be started"), qPrintable(answer));
  }
};

HIGHWATER_TEST(TestHelpDialogs, QApplication)
#include "tst_help_dialogs.moc"
