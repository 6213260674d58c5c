// The memory budget of the window's data: stored, asked for, and out of range.
#include <QFile>
#include <QInputDialog>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QWidget>
#include <optional>

#include "analysis/live_store.h"
#include "core/units.h"
#include "support/test_program.h"
#include "window/memory_budget.h"

using namespace highwater;
using window::saveMemoryBudget;
using window::storedMemoryBudget;

namespace {

const QString kKey = QStringLiteral("window/memoryMiB");

}  // namespace

class TestMemoryBudget : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

 private slots:
  void init() { (void)QFile::remove(folder_.filePath("settings.ini")); }

  void isTheDefaultUntilItIsSet() {
    const QSettings none(folder_.filePath("settings.ini"), QSettings::IniFormat);
    QCOMPARE(storedMemoryBudget(none), analysis::LiveStore::kDefaultMemoryBudget);
  }

  void comesBackAsItWasSaved_data() {
    QTest::addColumn<qulonglong>("mib");
    for (const qulonglong mib : {64, 100, 1024, 4096, 64 * 1024}) {
      QTest::addRow("%llu MiB", mib) << mib;
    }
  }
  void comesBackAsItWasSaved() {
    QFETCH(qulonglong, mib);
    {
      QSettings written(folder_.filePath("settings.ini"), QSettings::IniFormat);
      saveMemoryBudget(written, mib * kMiB);
    }
    const QSettings read(folder_.filePath("settings.ini"), QSettings::IniFormat);
    QCOMPARE(storedMemoryBudget(read), static_cast<std::size_t>(mib) * kMiB);
  }

  void isTheDefaultWhereTheStoredOneIsNoBudget_data() {
    QTest::addColumn<QVariant>("value");
    QTest::newRow("nothing") << QVariant(QString());
    QTest::newRow("a word") << QVariant(QStringLiteral("much"));
    QTest::newRow("0") << QVariant(0);
    QTest::newRow("less than a window needs") << QVariant(63);
    QTest::newRow("negative") << QVariant(-1024);
    QTest::newRow("more than a machine has") << QVariant(64 * 1024 + 1);
    QTest::newRow("more than an int holds") << QVariant(QStringLiteral("99999999999"));
    QTest::newRow("a list") << QVariant(QStringList{"1024", "2048"});
  }
  void isTheDefaultWhereTheStoredOneIsNoBudget() {
    QFETCH(QVariant, value);
    QSettings written(folder_.filePath("settings.ini"), QSettings::IniFormat);
    written.setValue(kKey, value);
    QCOMPARE(storedMemoryBudget(written), analysis::LiveStore::kDefaultMemoryBudget);
  }

  void theDialogAsksInMiB() {
    QWidget parent;
    parent.show();
    std::optional<std::size_t> chosen;
    window::askForMemoryBudget(&parent, 512 * kMiB, [&](std::size_t bytes) { chosen = bytes; });
    auto* dialog = parent.findChild<QInputDialog*>(QStringLiteral("memoryBudgetDialog"));
    QVERIFY(dialog && dialog->isVisible());
    QCOMPARE(dialog->intValue(), 512);
    dialog->setIntValue(1);  // the least instead
    QCOMPARE(dialog->intValue(), 64);
    dialog->setIntValue(768);
    QTest::keyClick(dialog, Qt::Key_Return);
    QTRY_VERIFY(chosen.has_value());
    QCOMPARE(*chosen, 768 * kMiB);
    QTRY_VERIFY(!parent.findChild<QInputDialog*>(QStringLiteral("memoryBudgetDialog")));
  }

  void escapeChangesNothing() {
    QWidget parent;
    parent.show();
    bool asked = false;
    window::askForMemoryBudget(&parent, 512 * kMiB, [&](std::size_t) { asked = true; });
    auto* dialog = parent.findChild<QInputDialog*>(QStringLiteral("memoryBudgetDialog"));
    QTest::keyClick(dialog, Qt::Key_Escape);
    QTRY_VERIFY(!parent.findChild<QInputDialog*>(QStringLiteral("memoryBudgetDialog")));
    QVERIFY(!asked);
  }
};

HIGHWATER_TEST(TestMemoryBudget, QApplication)
#include "tst_memory_budget.moc"
