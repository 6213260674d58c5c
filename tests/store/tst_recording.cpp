#include <sqlite3.h>
#include <unistd.h>

#include <QScopeGuard>

#include "frames.h"
#include "support/file_size_limit.h"
#include "support/test_program.h"
#include "wire/validator.h"

using namespace highwater;
using namespace highwater::test;
namespace fs = std::filesystem;

namespace {

/// The first column of the rows of a query, as the `sqlite3` program prints it.
QStringList query(const fs::path& path, const char* sql) {
  sqlite3* db = nullptr;
  QStringList rows;
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK) {
    sqlite3_exec(
        db, sql,
        [](void* out, int, char** values, char**) {
          static_cast<QStringList*>(out)->append(values[0] ? QString::fromUtf8(values[0])
                                                           : QStringLiteral("null"));
          return 0;
        },
        &rows, nullptr);
  }
  sqlite3_close(db);
  return rows;
}

/// Lets SQLite behave as Apple's, which is built with SQLITE_ENABLE_PERSIST_WAL: -wal and -shm stay
/// beside a database that was closed.
class ApplesSqlite {
 public:
  ApplesSqlite() : system_(sqlite3_vfs_find(nullptr)), apples_(*system_) {
    apples_.zName = "apple";
    apples_.xOpen = [](sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
      sqlite3_vfs* system = sqlite3_vfs_find("unix");
      const int code = system->xOpen(system, name, file, flags, out);
      int persistent = 1;
      if (code == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0) {
        file->pMethods->xFileControl(file, SQLITE_FCNTL_PERSIST_WAL, &persistent);
      }
      return code;
    };
    sqlite3_vfs_register(&apples_, 1);
  }
  ~ApplesSqlite() {
    sqlite3_vfs_unregister(&apples_);
    sqlite3_vfs_register(system_, 1);
  }
  ApplesSqlite(const ApplesSqlite&) = delete;
  ApplesSqlite& operator=(const ApplesSqlite&) = delete;

 private:
  sqlite3_vfs* system_;
  sqlite3_vfs apples_;
};

}  // namespace

class TestRecording : public QObject {
  Q_OBJECT

 private slots:
  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    path_ = pathIn(folder_->path(), "a.highwater");
  }

  void framesComeBackAsTheyWere() {
    const auto frames = sampleFrames();
    auto writer = create(path_);
    QVERIFY(writer);
    QVERIFY(writer->path() == path_);
    feedFrames(frames, *writer);
    const auto closed = writer->close();
    QVERIFY2(closed.ok(), closed ? "" : closed.error().message.c_str());
    QVERIFY(writer->errorText().empty());

    QCOMPARE(filesIn(*folder_), QStringList{"a.highwater"});
    QCOMPARE(writer->bytesWritten(), fs::file_size(path_));
    const ReadBack back = readFrames(path_);
    QVERIFY(back.result.ok());
    QVERIFY(back.frames == frames);
    QCOMPARE(filesIn(*folder_), QStringList{"a.highwater"});
  }

  /// SQLite knows addresses, and names of its own.
  void aNameIsAFilesName_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"file:a.highwater", ":memory:", "file:b?mode=ro", "a?b#c%41"}) {
      QTest::newRow(name) << name;
    }
  }
  void aNameIsAFilesName() {
    QFETCH(QString, name);
    QTemporaryDir folder;
    const QString before = QDir::currentPath();
    QVERIFY(QDir::setCurrent(folder.path()));
    const auto back = qScopeGuard([&before] { QDir::setCurrent(before); });
    const fs::path path = name.toStdString();
    const auto frames = sampleFrames();
    auto writer = create(path);
    QVERIFY(writer);
    feedFrames(frames, *writer);
    QVERIFY(writer->close().ok());
    QCOMPARE(filesIn(folder), QStringList{name});
    const ReadBack read = readFrames(path);
    QVERIFY(read.result.ok() && read.frames == frames);
  }

  void holdsTheStreamOnly() {
    QVERIFY(record());
    QCOMPARE(query(path_, "SELECT name FROM sqlite_schema ORDER BY name"),
             (QStringList{"batches", "run"}));
    QCOMPARE(query(path_, "SELECT value FROM run WHERE key = 'batches'"),
             query(path_, "SELECT count(*) FROM batches"));
    QCOMPARE(query(path_, "SELECT count(*) FROM run WHERE key NOT LIKE '%batches'"),
             QStringList{"0"});
  }

  void timesAndKindsOfEachBatch() {
    QVERIFY(record());
    QCOMPARE(query(path_, "SELECT count(*) FROM batches WHERE first_ns > last_ns").value(0), "0");
    // Bit 16: Hello; 25: RunEnd.
    QCOMPARE(query(path_, "SELECT sum(kinds & (1 << 16) != 0) FROM batches").value(0), "1");
    QCOMPARE(query(path_, "SELECT sum(kinds & (1 << 25) != 0) FROM batches").value(0), "1");
  }

  void longRunsAreCutIntoBatches() {
    SampleRunOptions options;
    options.steps = 3000;
    options.samplingHz = 1000;
    const auto frames = sampleFrames(options);
    store::WriterOptions slow;
    slow.commitEvery = std::chrono::hours(1);
    auto writer = create(path_, slow);
    QVERIFY(writer);
    feedFrames(frames, *writer);
    QVERIFY(writer->close().ok());
    QVERIFY(query(path_, "SELECT count(*) FROM batches").value(0).toInt() > 1);
    QVERIFY(query(path_, "SELECT max(raw_bytes) FROM batches").value(0).toInt() <= 8 << 20);
    QVERIFY(readFrames(path_).frames == frames);
  }

  void passesTheValidator() {
    QVERIFY(record());

    wire::Validator validator(wire::StreamSource::kRecording);
    auto reader = store::RecordingReader::open(path_);
    QVERIFY(reader.ok());
    QVERIFY(reader->fileBytes() > 0);
    const auto done =
        reader->forEachFrame([&](std::span<const std::uint8_t> frame) -> Result<void> {
          if (reinterpret_cast<std::uintptr_t>(frame.data()) % 8 != 0)
            return failure("not aligned");
          const Result<Message> message = wire::decode(frame);
          return message ? validator.check(*message) : Result<void>(message.error());
        });
    QVERIFY2(done.ok(), done ? "" : done.error().message.c_str());
  }

  void refusesAnExistingFile() {
    QVERIFY(writeBytes(path_, "somebody's work"));
    const auto writer = store::RecordingWriter::create(path_);
    QVERIFY(!writer.ok());
    QVERIFY(writer.error().code == ErrorCode::kExists);
    QVERIFY(writer.error().message.find("a.highwater") != std::string::npos);
    QCOMPARE(bytesOf(path_), "somebody's work");
    QCOMPARE(filesIn(*folder_), QStringList{"a.highwater"});
  }

  void overwriteSparesTheOldFileUntilAStepBegins() {
    QVERIFY(writeBytes(path_, kRestOfARecording));
    store::WriterOptions options;
    options.overwrite = true;
    options.commitEvery = std::chrono::milliseconds(1);
    auto writer = create(path_, options);
    QVERIFY(writer);
    QVERIFY(writer->path() == fs::canonical(path_));
    auto frames = sampleFrames();
    frames.resize(3);  // Hello, description, definitions
    const std::uint64_t before = writer->bytesWritten();
    feedFrames(frames, *writer);
    QTRY_VERIFY(writer->bytesWritten() > before);
    QCOMPARE(bytesOf(path_), kRestOfARecording);
    writer->discard();
    QCOMPARE(bytesOf(path_), kRestOfARecording);
    QCOMPARE(filesIn(*folder_), QStringList{"a.highwater"});
  }

  void overwriteReplacesTheOldFile() {
    // A killed run left a WAL as well: nothing of it may get into the new recording.
    QVERIFY(writeBytes(path_, kRestOfARecording));
    QVERIFY(writeBytes(path_.string() + "-wal", "somebody's newest work"));
    store::WriterOptions options;
    options.overwrite = true;
    options.commitEvery = std::chrono::milliseconds(1);
    auto writer = create(path_, options);
    QVERIFY(writer);
    const auto frames = sampleFrames();
    const std::vector<wire::FrameBytes> firstHalf(frames.begin(), frames.begin() + 15);
    const std::vector<wire::FrameBytes> secondHalf(frames.begin() + 15, frames.end());
    feedFrames(firstHalf, *writer);
    QTRY_VERIFY(bytesOf(path_).startsWith("SQLite"));  // before the end, once a step has begun
    feedFrames(secondHalf, *writer);
    QVERIFY(writer->close().ok());
    QCOMPARE(filesIn(*folder_), QStringList{"a.highwater"});
    QVERIFY(readFrames(path_).frames == frames);
  }

  void overwriteSparesFilesOfOtherKinds() {
    QTemporaryDir folder;
    store::WriterOptions options;
    options.overwrite = true;
    for (const char* name : {"notes.txt", "notes.highwater"}) {
      const fs::path notes = pathIn(folder.path(), name);
      QVERIFY(writeBytes(notes, "somebody's work"));
      const auto refused = store::RecordingWriter::create(notes, options);
      QVERIFY(!refused && refused.error().code == ErrorCode::kExists);
      QVERIFY2(refused.error().message.find("is not a recording") != std::string::npos,
               refused.error().message.c_str());
      QCOMPARE(bytesOf(notes), "somebody's work");
    }

    // A recording may have any name, and so may an empty file.
    for (const char* name : {"run.old", "empty"}) {
      const fs::path path = pathIn(folder.path(), name);
      QVERIFY(writeBytes(path, ""));
      for (int i = 0; i < 2; ++i) {
        auto writer = create(path, options);
        QVERIFY(writer);
        feedFrames(sampleFrames(), *writer);
        QVERIFY(writer->close().ok());
      }
    }
  }

  void discardLeavesNothing() {
    QTemporaryDir folder;
    auto writer = create(pathIn(folder.path(), "a.highwater"));
    QVERIFY(writer);
    feedFrames(sampleFrames(), *writer);
    writer->discard();
    QCOMPARE(filesIn(folder), QStringList{});
  }

  void refusesImpossiblePaths_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("word");
    QTest::newRow("a folder that does not exist") << "absent/a.highwater"
                                                  << "folder does not exist";
    QTest::newRow("a folder") << "folder"
                              << "is a folder";
    QTest::newRow("a file for a folder") << "file/a.highwater"
                                         << "folder does not exist";
  }

  void refusesImpossiblePaths() {
    QFETCH(QString, name);
    QFETCH(QString, word);
    QTemporaryDir folder;
    QVERIFY(QDir(folder.path()).mkdir("folder"));
    QVERIFY(writeBytes(pathIn(folder.path(), "file"), "text"));
    store::WriterOptions options;
    options.overwrite = true;
    const fs::path path = pathIn(folder.path(), qPrintable(name));
    const auto writer = store::RecordingWriter::create(path, options);
    QVERIFY(!writer.ok());
    QVERIFY2(writer.error().message.find(word.toStdString()) != std::string::npos,
             writer.error().message.c_str());
    QVERIFY(writer.error().message.find(path.string()) != std::string::npos);
    QCOMPARE(filesIn(folder), QStringList{"file"});
  }

  void refusesWithoutPermission() {
    if (::geteuid() == 0) QSKIP("root may write everywhere");
    QTemporaryDir folder;
    fs::permissions(folder.path().toStdString(), fs::perms::owner_read | fs::perms::owner_exec);
    const auto writer = store::RecordingWriter::create(pathIn(folder.path(), "a.highwater"));
    fs::permissions(folder.path().toStdString(), fs::perms::owner_all);
    QVERIFY(!writer.ok());
    QVERIFY(writer.error().code == ErrorCode::kNoPermission);
  }

  void canBeReadWhileItIsWritten() {
    auto writer = create(path_);
    QVERIFY(writer);
    const auto frames = sampleFrames();
    feedFrames(frames, *writer);
    QTRY_COMPARE(readFrames(path_).frames.size(), frames.size());
    QVERIFY(writer->close().ok());
  }

  void survivesAKill() {
    QProcess child;
    child.start(QCoreApplication::applicationDirPath() + "/recording_child",
                {QString::fromStdString(path_.string())});
    QVERIFY(child.waitForStarted(kWaitMs));
    // Past the first checkpoint, so that there are frames in the file and in the WAL.
    QByteArray output;
    const auto lines = [&] {
      output += child.readAllStandardOutput();
      return output.count('\n');
    };
    QTRY_VERIFY(lines() > 500);
    // What has been taken by now gets into the recording while the writer goes on. How soon depends
    // on the machine: tests/reliability/run measures what a kill takes with it.
    const auto promised = static_cast<std::size_t>(lines());
    QTRY_VERIFY(readFrames(path_).frames.size() >= promised);
    child.kill();
    QVERIFY(child.waitForFinished(kWaitMs));
    QVERIFY(child.exitStatus() == QProcess::CrashExit);

    const ReadBack back = readFrames(path_);
    QVERIFY2(back.result.ok(), back.result ? "" : back.result.error().message.c_str());
    QVERIFY2(back.frames.size() >= promised,
             qPrintable(QString("%1 of %2").arg(back.frames.size()).arg(promised)));
    QCOMPARE(query(path_, "SELECT sum(kinds & (1 << 25) != 0) FROM batches"), QStringList{"0"});
  }

  void aFullQueueIsAnError() {
    const auto frames = sampleFrames();
    store::WriterOptions options;
    options.commitEvery = std::chrono::hours(1);  // so that nothing leaves the queue
    options.maxQueuedBytes = 10'000;
    auto writer = create(path_, options);
    QVERIFY(writer);
    feedFrames(frames, *writer);
    QVERIFY(writer->errorText().find("of the training lost") != std::string::npos);
    QVERIFY(!writer->close().ok());

    // The beginning of the stream without a hole, and the end of the run.
    const ReadBack back = readFrames(path_);
    QVERIFY(back.result.ok());
    QVERIFY(back.frames.size() > 3 && back.frames.size() < frames.size());
    QVERIFY(std::equal(back.frames.begin(), back.frames.end() - 1, frames.begin()));
    QVERIFY(back.frames.back() == frames.back());
  }

  void aFullDiskIsAnError() {
    const auto frames = sampleFrames();
    store::WriterOptions options;
    options.commitEvery = std::chrono::milliseconds(1);
    auto writer = create(path_, options);
    QVERIFY(writer);
    const std::vector<wire::FrameBytes> begin(frames.begin(), frames.begin() + 5);
    const std::vector<wire::FrameBytes> rest(frames.begin() + 5, frames.end());
    feedFrames(begin, *writer);
    QTRY_VERIFY(readFrames(path_).frames.size() == begin.size());
    {
      const FileSizeLimit limit(fs::file_size(path_.string() + "-wal") + 100);
      feedFrames(rest, *writer);
      QTRY_VERIFY(!writer->errorText().empty());
      feedFrames(rest, *writer);  // the run goes on
    }
    const auto closed = writer->close();
    QVERIFY(!closed.ok());
    QVERIFY(closed.error().message.find("a.highwater") != std::string::npos);
    const ReadBack back = readFrames(path_);
    QVERIFY(back.result.ok());
    QVERIFY(back.frames.size() >= begin.size());
    QVERIFY(std::equal(back.frames.begin(), back.frames.end(), frames.begin()));
  }

  void aWalThatHasToStayIsNamed() {
    const auto frames = sampleFrames();
    store::WriterOptions options;
    options.commitEvery = std::chrono::milliseconds(1);
    options.checkpointEvery = std::chrono::hours(1);
    auto writer = create(path_, options);
    QVERIFY(writer);
    feedFrames(frames, *writer);
    QTRY_VERIFY(readFrames(path_).frames.size() == frames.size());
    const auto closed = [&] {
      const FileSizeLimit limit(fs::file_size(path_));
      return writer->close();
    }();
    QVERIFY(!closed.ok());
    QVERIFY2(QString::fromStdString(closed.error().message)
                 .endsWith("could not be completed: its end is in \"" +
                           folder_->filePath("a.highwater-wal") + "\"; keep both files"),
             closed.error().message.c_str());
    QVERIFY(fs::file_size(path_.string() + "-wal") > 0);
    QCOMPARE(writer->bytesWritten(), fs::file_size(path_) + fs::file_size(path_.string() + "-wal"));
    QVERIFY(readFrames(path_).frames == frames);
  }

  void aBrokenFrameIsAnError() {
    auto writer = create(path_);
    QVERIFY(writer);
    auto frames = sampleFrames();
    const Result<Message> message = wire::decode(frames[3]);
    QVERIFY(message.ok());
    writer->take(frames[0], *wire::decode(frames[0]));
    writer->take(std::span(frames[3]).first(frames[3].size() - 1), *message);
    writer->take(frames[4], *wire::decode(frames[4]));
    QVERIFY(!writer->errorText().empty());
    QVERIFY(!writer->close().ok());
    const ReadBack back = readFrames(path_);
    QVERIFY(back.result.ok());
    QCOMPARE(back.frames.size(), 1u);
  }

  void nothingStaysBesideItWithApplesSqlite() {
    const ApplesSqlite apples;
    for (const bool overwrite : {false, true}) {
      auto writer = create(path_, {.overwrite = overwrite});
      QVERIFY(writer);
      feedFrames(sampleFrames(), *writer);
      const auto closed = writer->close();
      QVERIFY2(closed.ok(), closed ? "" : closed.error().message.c_str());
      QCOMPARE(filesIn(*folder_), QStringList{"a.highwater"});
    }
  }

 private:
  /// Writes the sample run to path_.
  [[nodiscard]] bool record() {
    auto writer = create(path_);
    if (writer) feedFrames(sampleFrames(), *writer);
    return writer && writer->close().ok();
  }

  std::unique_ptr<QTemporaryDir> folder_;
  fs::path path_;

  std::unique_ptr<store::RecordingWriter> create(const fs::path& path,
                                                 const store::WriterOptions& options = {}) {
    auto writer = store::RecordingWriter::create(path, options);
    return writer ? std::move(*writer) : nullptr;
  }
};

HIGHWATER_TEST(TestRecording, QCoreApplication)
#include "tst_recording.moc"
