// The style sheet: every token has a value, and code is of a fixed pitch.
#include <QFontDatabase>
#include <QFontInfo>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QTest>

#include "support/test_program.h"
#include "views/theme.h"

using namespace highwater;
using views::Theme;

class TestTheme : public QObject {
  Q_OBJECT

 private slots:
  void fillsInEveryToken() {
    for (const Theme* theme : {&Theme::dark(), &Theme::light()}) {
      QString sheet = theme->styleSheet();
      sheet.remove(
          QRegularExpression("/\\*.*?\\*/", QRegularExpression::DotMatchesEverythingOption));
      QVERIFY(!sheet.isEmpty());
      const auto left = QRegularExpression("@[a-z0-9]+@").match(sheet);
      QVERIFY2(!left.hasMatch(), qPrintable(left.captured()));
      // The family of that name is no font of a Mac.
      const QString fixed = QFontDatabase::systemFont(QFontDatabase::FixedFont).family();
      QVERIFY(sheet.contains("font-family: \"" + fixed + "\""));
      if (fixed != "monospace") QVERIFY(!sheet.contains("monospace"));
    }
    QFile source(HIGHWATER_SOURCE_DIR "/resources/style.qss");
    QVERIFY(source.open(QIODevice::ReadOnly));
    QVERIFY(!source.readAll().contains("monospace"));
  }

  void codeHasAFixedPitch() {
    if (!QFontInfo(QFontDatabase::systemFont(QFontDatabase::FixedFont)).fixedPitch()) {
      QSKIP("this machine has no font of a fixed pitch");
    }
    QWidget parent;
    parent.setStyleSheet(Theme::light().styleSheet());
    auto* code = new QLabel("iiii", &parent);
    code->setProperty("kind", "code");
    auto* command = new QLineEdit(&parent);
    command->setProperty("kind", "command");
    parent.show();
    for (QWidget* each : {static_cast<QWidget*>(code), static_cast<QWidget*>(command)}) {
      each->ensurePolished();
      const QFontMetrics metrics(each->font());
      QCOMPARE(metrics.horizontalAdvance("iiii"), metrics.horizontalAdvance("MMMM"));
    }
  }
};

HIGHWATER_TEST(TestTheme, QApplication)
#include "tst_theme.moc"
