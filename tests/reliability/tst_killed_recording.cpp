// What is said about the recording of a killed run, or of one whose files are incomplete or
// damaged.
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QStandardPaths>

#include "../store/frames.h"
#include "core/exit_codes.h"
#include "run/fallback_acceptance.h"
#include "store/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
namespace fs = std::filesystem;

namespace {

constexpr int kWalHeaderBytes = 32, kPageBytes = 24 + 4096;

bool execute(const fs::path& path, const char* sql) {
  sqlite3* db = nullptr;
  const bool done = sqlite3_open(path.c_str(), &db) == SQLITE_OK &&
                    sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  sqlite3_close(db);
  return done;
}

/// Changes the files of a recording.
using Spoil = std::function<void(const fs::path& path)>;

}  // namespace

Q_DECLARE_METATYPE(Spoil)

class TestKilledRecording : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;
  fs::path path_;

  QByteArray killedFile_,
      killedWal_;  ///< of a writer, all of whose frames but the last are in the WAL

  /// Copies the files of a running writer, as a kill leaves them.
  void readKilled() {
    const QTemporaryDir folder;
    store::WriterOptions options;
    options.commitEvery = std::chrono::milliseconds(1);
    options.checkpointEvery = std::chrono::hours(1);
    const fs::path live = pathIn(folder.path(), "live.highwater");
    auto writer = store::RecordingWriter::create(live, options);
    QVERIFY(writer.ok());
    auto frames = sampleFrames();
    frames.pop_back();  // RunEnd
    for (const auto& frame : frames) {
      // A commit for each, so that the WAL has many pages.
      const auto before = (*writer)->bytesWritten();
      feedFrames({frame}, **writer);
      QTRY_VERIFY_WITH_TIMEOUT((*writer)->bytesWritten() > before, kWaitMs);
    }
    QCOMPARE(readFrames(live).frames.size(), frames.size());
    killedFile_ = bytesOf(live);
    killedWal_ = bytesOf(store::walOf(live));
    (*writer)->discard();
  }
  void makeKilled() const {
    QVERIFY(writeBytes(path_, killedFile_) && writeBytes(wal(), killedWal_));
  }
  /// Kills a writer between two checkpoints: the file has a part of the batches, and the WAL the
  /// rest.
  [[nodiscard]] bool killWriter() {
    const auto endIsInTheWal = [this] {
      return withoutWal(path_) > 0 && batches() > withoutWal(path_);
    };
    // A kill just after a checkpoint leaves nothing in the WAL: then once more.
    for (int i = 0; i < 10 && !endIsInTheWal(); ++i) {
      for (const QString& left : files()) fs::remove(pathIn(folder_->path(), qPrintable(left)));
      QProcess child;
      child.start(QCoreApplication::applicationDirPath() + "/recording_child",
                  {QString::fromStdString(path_.string())});
      const bool has = child.waitForStarted(kWaitMs) && QTest::qWaitFor(endIsInTheWal, kWaitMs);
      child.kill();
      if (!child.waitForFinished(kWaitMs) || !has) return false;
    }
    return endIsInTheWal();
  }
  void makeClosed() {
    auto writer = store::RecordingWriter::create(path_);
    QVERIFY(writer.ok());
    feedFrames(sampleFrames(), **writer);
    QVERIFY((*writer)->close().ok());
  }

  /// The number of batches of frames, as an SQL query of a file finds it.
  [[nodiscard]] static int batchesOf(const std::string& uri) {
    sqlite3* db = nullptr;
    sqlite3_stmt* rows = nullptr;
    sqlite3_open_v2(uri.c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
    // A reader that believes to be alone would write the WAL into the file, and remove it.
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sqlite3_prepare_v2(db, "SELECT count(*) FROM batches", -1, &rows, nullptr);
    const int count = sqlite3_step(rows) == SQLITE_ROW ? sqlite3_column_int(rows, 0) : 0;
    sqlite3_finalize(rows);
    sqlite3_close(db);
    return count;
  }
  [[nodiscard]] int batches() const { return batchesOf("file:" + path_.string()); }
  /// Of the file itself, without its WAL.
  [[nodiscard]] static int withoutWal(const fs::path& path) {
    return batchesOf("file:" + path.string() + "?immutable=1");
  }
  /// What Python's sqlite3 prints for a query, which takes the WAL into the file and deletes it.
  [[nodiscard]] QString asked(const char* query) const {
    const char* const program =
        "import sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1])\n"
        "print(database.execute(sys.argv[2]).fetchone()[0])\n"
        "database.close()";
    return runProgram("python3", {"-c", program, QString::fromStdString(path_.string()), query})
        .out.trimmed();
  }

  /// Once Python has read it, the recording is one file, which has all steps and counts as sound.
  void takenInByPythonItIsWhole() {
    const int steps = stepsIn(report());
    QVERIFY(steps > 0);
    const int count = batches();
    QCOMPARE(asked("SELECT count(*) FROM batches"), QString::number(count));
    QCOMPARE(files(), QStringList{"a.highwater"});
    const Outcome reported = report();
    QVERIFY2(reported.exitCode == kExitDone, qPrintable(reported.err));
    QCOMPARE(stepsIn(reported), steps);
    const auto acceptance = run::makeAcceptance("aten::embedding_renorm_", "once an epoch only");
    QVERIFY(acceptance.ok() && run::appendAcceptance(path_, *acceptance).ok());
    QCOMPARE(report().exitCode, int(kExitDone));
  }

  [[nodiscard]] fs::path wal() const { return store::walOf(path_); }
  [[nodiscard]] QStringList files() const {
    return QDir(folder_->path()).entryList(QDir::Files | QDir::Hidden, QDir::Name);
  }
  /// Runs highwater as somebody who may not write into the folder.
  [[nodiscard]] Outcome reportOfAReader() const {
    const QString path = QString::fromStdString(path_.string());
    if (::geteuid() != 0) return runHighwater({"report", path, "--json"});
    return runProgram("setpriv", {"--reuid=65534", "--regid=65534", "--clear-groups",
                                  HIGHWATER_BIN_DIR "/highwater", "report", path, "--json"});
  }
  [[nodiscard]] static bool canBeAReader() {
    return ::geteuid() != 0 || !QStandardPaths::findExecutable("setpriv").isEmpty();
  }
  void makeFolderReadOnly() const {
    fs::permissions(folder_->path().toStdString(), fs::perms::owner_read | fs::perms::owner_exec |
                                                       fs::perms::others_read |
                                                       fs::perms::others_exec);
  }
  static int stepsIn(const Outcome& outcome) {
    return QJsonDocument::fromJson(outcome.out.toUtf8()).object()["steps"].toInt();
  }
  [[nodiscard]] Outcome report() const {
    return runHighwater({"report", QString::fromStdString(path_.string()), "--json"});
  }
  void isDamaged(const char* why) const {
    const Outcome reported = report();
    QCOMPARE(reported.exitCode, int(kExitFailed));
    QVERIFY2(reported.err.contains(why), qPrintable(reported.err));
  }

 private slots:
  void initTestCase() { readKilled(); }
  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    path_ = pathIn(folder_->path(), "a.highwater");
  }
  void cleanup() { fs::permissions(folder_->path().toStdString(), fs::perms::owner_all); }

  void whatIsLeftOfAKilledRun_data() {
    QTest::addColumn<Spoil>("spoil");
    QTest::addColumn<QByteArray>("why");  // empty: it is whole
    const auto row = [](const char* name, Spoil spoil, const char* why) {
      QTest::newRow(name) << std::move(spoil) << QByteArray(why);
    };
    row(
        "file and WAL", [](const fs::path&) {}, "");
    const auto append = [](const QByteArray& more) {
      return [more](const fs::path& path) {
        const fs::path wal = store::walOf(path);
        QVERIFY(writeBytes(wal, bytesOf(wal) + more));
      };
    };
    row("a half-written last page", append(killedWal_.right(kPageBytes).left(2000)), "");
    row("a last page of rubbish", append(QByteArray(kPageBytes, 'x')), "");
    const auto pages = (killedWal_.size() - kWalHeaderBytes) / kPageBytes;
    QVERIFY(pages > 20);
    const auto flip = [](qsizetype at) {
      return [at](const fs::path& path) {
        QByteArray bytes = bytesOf(store::walOf(path));
        bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
        QVERIFY(writeBytes(store::walOf(path), bytes));
      };
    };
    row("a WAL that breaks off", flip(kWalHeaderBytes + pages / 2 * kPageBytes + 1000),
        "is damaged at byte");
    row("a damaged header of the WAL", flip(20), "has a damaged header");
    row(
        "no WAL", [](const fs::path& path) { fs::remove(store::walOf(path)); },
        "its WAL is not beside it");
    row(
        "a row less than it counts",
        [](const fs::path& path) {
          QVERIFY(execute(path, "DELETE FROM batches WHERE id = (SELECT max(id) FROM batches)"));
          QVERIFY(!fs::exists(store::walOf(path)));
        },
        "its WAL is not beside it");
  }
  void whatIsLeftOfAKilledRun() {
    QFETCH(Spoil, spoil);
    QFETCH(QByteArray, why);
    makeKilled();
    spoil(path_);
    if (!why.isEmpty()) {
      isDamaged(why.constData());
      isDamaged(why.constData());  // also now that SQLite has opened it
      return;
    }
    const Outcome reported = report();
    QVERIFY2(reported.exitCode == kExitDone, qPrintable(reported.err));
    QCOMPARE(stepsIn(reported), 60);
  }

  /// `export` says the same, and draws what is left.
  void exportSaysThatItIsDamaged() {
    makeKilled();
    fs::remove(wal());
    const QString picture = folder_->filePath("a.png");
    const Outcome exported =
        runHighwater({"export", QString::fromStdString(path_.string()), "--to", picture});
    QCOMPARE(exported.exitCode, int(kExitFailed));
    QVERIFY2(exported.err.contains("its WAL is not beside it"), qPrintable(exported.err));
    QVERIFY(QFile::exists(picture));
  }

  void inAReadOnlyFolderItIsWhole() {
    if (!canBeAReader()) QSKIP("root may write everywhere, and there is no setpriv");
    makeKilled();
    makeFolderReadOnly();
    const Outcome reported = reportOfAReader();
    QVERIFY2(reported.exitCode == kExitDone, qPrintable(reported.err));
    QCOMPARE(stepsIn(reported), 60);
    QCOMPARE(files(), (QStringList{"a.highwater", "a.highwater-wal"}));
  }

  void aWalThatCannotBeReadIsDamage() {
    if (!canBeAReader()) QSKIP("root may write everywhere, and there is no setpriv");
    makeKilled();
    fs::permissions(wal(), fs::perms::none);
    makeFolderReadOnly();
    const Outcome reported = reportOfAReader();
    QCOMPARE(reported.exitCode, int(kExitFailed));
    QVERIFY2(reported.err.contains("a.highwater-wal\" could not be read"),
             qPrintable(reported.err));
  }

  void readByPythonItIsWhole() {
    makeKilled();
    takenInByPythonItIsWhole();
  }

  void readByPythonAfterCheckpointsItIsWhole() {
    QVERIFY(killWriter());
    takenInByPythonItIsWhole();
  }

  void aMissingWalAfterCheckpointsIsDamage() {
    QVERIFY(killWriter());
    fs::remove(wal());
    isDamaged("its WAL is not beside it");
    QVERIFY(stepsIn(report()) > 0);
  }

  void aClosedRecordingNeedsNoWal() {
    makeClosed();
    QCOMPARE(report().exitCode, int(kExitDone));
    QCOMPARE(files(), QStringList{"a.highwater"});
  }

  void hiddenFilesOfKilledWritersAreRemoved() {
    makeClosed();
    // No process has this id: beyond Linux's and macOS's largest.
    const fs::path left = pathIn(folder_->path(), ".a.highwater.99999999.new");
    const fs::path ofAnother = pathIn(folder_->path(), ".b.highwater.99999999.new");
    const fs::path ofALiving =
        pathIn(folder_->path(), qPrintable(QString(".a.highwater.%1.new").arg(::getppid())));
    for (const fs::path& each : {left, ofAnother, ofALiving}) QVERIFY(writeBytes(each, ""));
    QVERIFY(writeBytes(left.string() + "-wal", "x"));
    const fs::path withSteps = pathIn(folder_->path(), ".a.highwater.99999998.new");
    fs::copy_file(path_, withSteps);
    {
      store::WriterOptions options;
      options.overwrite = true;
      auto writer = store::RecordingWriter::create(path_, options);
      QVERIFY(writer.ok());
      (*writer)->discard();
    }
    QVERIFY(!fs::exists(left) && !fs::exists(left.string() + "-wal"));
    QVERIFY(fs::exists(ofAnother) && fs::exists(ofALiving) && fs::exists(withSteps));
  }
};

HIGHWATER_TEST(TestKilledRecording, QCoreApplication)
#include "tst_killed_recording.moc"
