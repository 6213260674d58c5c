// The commands report and accept on a damaged recording.
#include <sqlite3.h>

#include "core/exit_codes.h"
#include "support/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::runHighwater;

class TestReportDamage : public QObject {
  Q_OBJECT

 private:
  static constexpr const char* kDamagedBatch =
      "INSERT INTO batches (kinds, frames, raw_bytes, data) VALUES (0, 1, 9, x'00')";
  QTemporaryDir folder_;
  QString path_;

  [[nodiscard]] QByteArray bytes() const {
    QFile file(path_);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
  [[nodiscard]] bool change(const char* sql) const {
    sqlite3* db = nullptr;
    const bool opened = sqlite3_open(qPrintable(path_), &db) == SQLITE_OK;
    const bool done = opened && sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
    return sqlite3_close(db) == SQLITE_OK && done;
  }
  [[nodiscard]] QJsonObject json() const {
    return QJsonDocument::fromJson(runHighwater({"report", path_, "--json"}).out.toUtf8()).object();
  }
  /// `accept` never changes a damaged file.
  [[nodiscard]] QString acceptRefusal() const {
    const QByteArray before = bytes();
    const auto outcome =
        runHighwater({"accept", path_, "--fallback", "embedding_renorm_", "--reason", "rare"});
    return outcome.exitCode == kExitFailed && bytes() == before ? outcome.err : QString();
  }

 private slots:
  void init() {
    path_ = test::recordIn(folder_, "a.highwater", test::makeSampleRun());
    QVERIFY(!path_.isEmpty());
  }

  void saysNothingOfASoundOne() {
    const QJsonObject report = json();
    QVERIFY(report["damage"].isArray() && report["damage"].toArray().isEmpty());
    QVERIFY(report["being_written"].isBool() && !report["being_written"].toBool());
    QVERIFY(!test::reportText(path_).contains("Damaged"));
  }

  void showsWhatCameBeforeADamagedBatch() {
    QVERIFY(change(kDamagedBatch));
    const auto outcome = runHighwater({"report", path_});
    QCOMPARE(outcome.exitCode, int(kExitFailed));
    QVERIFY2(outcome.err.contains("a.highwater\" is damaged: ") &&
                 outcome.err.contains(" before the damage can be read"),
             qPrintable(outcome.err));
    QVERIFY(outcome.out.contains(" 60, p50 "));
    const QJsonObject report = json();
    QCOMPARE(report["damage"].toArray().size(), 1);
    QCOMPARE(report["steps"].toInt(), 60);
    QVERIFY(acceptRefusal().contains(" before the damage can be read"));
    // With the first batch damaged there is nothing to show.
    QVERIFY(change("UPDATE batches SET data = x'00'"));
    const auto nothing = runHighwater({"report", path_, "--json"});
    QCOMPARE(nothing.exitCode, int(kExitFailed));
    QCOMPARE(nothing.out, QString());
    QVERIFY(nothing.err.contains("; nothing could be read"));
  }

  void doesNotSayThatADamagedOneEndedByItself() {
    path_ = test::recordIn(folder_, "b.highwater", test::makeSampleRun({.ended = false}));
    QVERIFY(test::reportText(path_).contains("killed or crashed: no end was written"));
    QVERIFY(change(kDamagedBatch));
    QVERIFY(test::reportText(path_).contains("unknown: the recording is damaged"));
  }

  void tellsWhatIsCutShortFromAForeignFile() {
    const QByteArray whole = bytes();
    for (const qsizetype size : {qsizetype(0), qsizetype(100), whole.size() - 1}) {
      QFile file(path_);
      QVERIFY(file.open(QIODevice::WriteOnly) && file.write(whole.left(size)) == size);
      file.close();
      const auto outcome = runHighwater({"report", path_});
      QCOMPARE(outcome.exitCode, int(kExitFailed));
      QVERIFY2(outcome.err.contains(size == 0 ? "is empty" : "the file is truncated ("),
               qPrintable(outcome.err));
      QVERIFY(outcome.out.isEmpty() || size > 100);
    }
  }
};

HIGHWATER_TEST(TestReportDamage, QCoreApplication)
#include "tst_report_damage.moc"
