#include <QClipboard>
#include <QDialog>
#include <QGuiApplication>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTest>

#include "support/recording_file.h"
#include "support/test_program.h"
#include "window/help_dialogs.h"

using namespace highwater;
using highwater::test::kWaitMs;

class TestHelpDialogs : public QObject {
  Q_OBJECT

 private:
  /// The text of the dialog, once the program has answered.
  static QString answerOf(QWidget& parent, const QString& name = "doctor") {
    const auto* shown = parent.findChild<QPlainTextEdit*>(name + "Text");
    if (!shown || !parent.findChild<QDialog*>(name + "Dialog")->isVisible()) return {};
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

  void showsWhatTellsRecordingsApart() {
    QTemporaryDir folder;
    const QString a = test::recordIn(folder, "a.highwater", test::makeSampleRun()),
                  b = test::recordIn(folder, "b.highwater", test::makeSampleRun({.steps = 80}));
    const QString program = QStringLiteral(HIGHWATER_BIN_DIR "/highwater");
    QWidget parent;
    parent.show();
    window::showCompareDialog(&parent, program, a, b);
    const QString answer = answerOf(parent, "compare");
    QVERIFY2(answer.contains("A  a.highwater  60 steps") && answer.contains("B  b.highwater"),
             qPrintable(answer));
    QCOMPARE(parent.findChild<QDialog*>("compareDialog")->windowTitle(), QString("a with b"));
    QWidget other;
    other.show();
    window::showCompareDialog(&other, program, a, folder.filePath("missing"));
    const QString why = answerOf(other, "compare");
    QVERIFY2(why.contains("missing"), qPrintable(why));
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
