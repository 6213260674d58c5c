// A recording whose file is opened, moved, replaced or deleted while it is written.
#include <sys/stat.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif
#include <unistd.h>

#include "frames.h"
#include "store/writer_lock.h"
#include "support/test_program.h"
#include "support/text.h"

using namespace highwater;
using namespace highwater::test;
namespace fs = std::filesystem;

namespace {

using Writer = std::unique_ptr<store::RecordingWriter>;

Writer create(const fs::path& path, bool overwrite = false) {
  store::WriterOptions options;
  options.overwrite = overwrite;
  options.commitEvery = std::chrono::milliseconds(1);
  options.checkpointEvery = std::chrono::milliseconds(20);
  auto writer = store::RecordingWriter::create(path, options);
  return writer ? std::move(*writer) : nullptr;
}

/// Why a second writer is refused; empty if it is not.
std::string refusalOf(const fs::path& path) {
  store::WriterOptions options;
  options.overwrite = true;
  const auto writer = store::RecordingWriter::create(path, options);
  return writer ? std::string() : writer.error().message;
}

std::vector<wire::FrameBytes> firstFrames(std::ptrdiff_t count) {
  const auto frames = sampleFrames();
  return {frames.begin(), frames.begin() + count};
}

std::vector<wire::FrameBytes> laterFrames(std::ptrdiff_t count) {
  const auto frames = sampleFrames();
  return {frames.begin() + count, frames.end()};
}

}  // namespace

class TestRecordingPlace : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;
  [[nodiscard]] fs::path path(const char* name) const { return pathIn(folder_->path(), name); }

  /// A writer of a.highwater that has committed the first 15 frames.
  Writer begun() {
    Writer writer = create(path("a.highwater"));
    if (!writer) return nullptr;
    feedFrames(firstFrames(15), *writer);
    const auto written = [&] { return readFrames(path("a.highwater")).frames.size() == 15; };
    return QTest::qWaitFor(written, kWaitMs) ? std::move(writer) : nullptr;
  }

  /// Waits until so many frames are in the file itself, read without its WAL.
  [[nodiscard]] bool isCheckpointed(const fs::path& file, std::size_t frames) const {
    const QTemporaryDir elsewhere;
    const fs::path copy = pathIn(elsewhere.path(), "copy");
    return QTest::qWaitFor(
        [&] { return writeBytes(copy, bytesOf(file)) && readFrames(copy).frames.size() == frames; },
        kWaitMs);
  }

 private slots:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void anotherWriterIsRefused() {
    const Writer writer = begun();
    QVERIFY(writer);
    QVERIFY(store::isBeingWritten(path("a.highwater")));
    const std::string refusal = refusalOf(path("a.highwater"));
    QVERIFY2(contains(refusal, "a.highwater\" is being written by a running process"),
             refusal.c_str());
    QVERIFY(contains(refusal, "give another name"));
    feedFrames(laterFrames(15), *writer);
    QVERIFY(writer->close().ok());
    QVERIFY(readFrames(path("a.highwater")).frames == sampleFrames());
    QCOMPARE(filesIn(*folder_), QStringList{"a.highwater"});
    // The lock went with the end of the run.
    QVERIFY(!store::isBeingWritten(path("a.highwater")));
    QVERIFY(create(path("a.highwater"), true));
  }

  void theLockOfAKilledWriterGoesWithIt() {
    QProcess child;
    child.start(QCoreApplication::applicationDirPath() + "/recording_child",
                {QString::fromStdString(path("a.highwater").string())});
    const auto written = [&] { return store::isBeingWritten(path("a.highwater")); };
    QTRY_VERIFY(written());
    QTRY_VERIFY(!readFrames(path("a.highwater")).frames.empty());
    QVERIFY(contains(refusalOf(path("a.highwater")), "is being written"));
    const auto reader = store::RecordingReader::open(path("a.highwater"));
    QVERIFY(reader.ok() && reader->beingWritten());
    child.kill();
    QVERIFY(child.waitForFinished(kWaitMs));
    const auto after = store::RecordingReader::open(path("a.highwater"));
    QVERIFY(after.ok() && !after->beingWritten());
    QVERIFY(create(path("a.highwater"), true));
  }

  void ofTwoThatWantToOverwriteTheSecondIsRefused() {
    QVERIFY(writeBytes(path("a.highwater"), kRestOfARecording));
    const Writer first = create(path("a.highwater"), true);
    QVERIFY(first);
    // No step has begun: the old file is unchanged, but locked.
    QVERIFY(contains(refusalOf(path("a.highwater")), "is being written"));
    QCOMPARE(bytesOf(path("a.highwater")), kRestOfARecording);
    feedFrames(firstFrames(15), *first);
    QTRY_VERIFY(bytesOf(path("a.highwater")).startsWith("SQLite"));
    QVERIFY(contains(refusalOf(path("a.highwater")), "is being written"));
    feedFrames(laterFrames(15), *first);
    QVERIFY(first->close().ok());
    QVERIFY(readFrames(path("a.highwater")).frames == sampleFrames());
  }

  void anotherFileThatCameMeanwhileIsNotOverwritten() {
    QVERIFY(writeBytes(path("a.highwater"), kRestOfARecording));
    const Writer writer = create(path("a.highwater"), true);
    QVERIFY(writer);
    QVERIFY(writeBytes(path("b"), "somebody else's work"));
    fs::rename(path("b"), path("a.highwater"));
    feedFrames(sampleFrames(), *writer);
    const auto closed = writer->close();
    QVERIFY(!closed.ok() && contains(closed.error().message, "another file has come"));
    QCOMPARE(bytesOf(path("a.highwater")), "somebody else's work");
    QCOMPARE(filesIn(*folder_).size(), 2);  // what was recorded until then is beside it
  }

  void aDeletedFileIsAnError() {
    const Writer writer = begun();
    QVERIFY(writer);
    fs::remove(path("a.highwater"));
    feedFrames(laterFrames(15), *writer);
    QTRY_VERIFY(contains(writer->errorText(), "was deleted while it was written"));
    QVERIFY(contains(writer->errorText(), "a.highwater"));
    const auto closed = writer->close();
    QVERIFY(!closed.ok() && closed.error().code == ErrorCode::kNotFound);
    QCOMPARE(filesIn(*folder_), QStringList());
  }

  void aFileDeletedAtTheEndIsAnErrorOfClose() {
    const Writer writer = begun();
    QVERIFY(writer);
    feedFrames(laterFrames(15), *writer);
    fs::remove(path("a.highwater"));
    const auto closed = writer->close();
    QVERIFY(!closed.ok() && contains(closed.error().message, "was deleted"));
  }

  void aReplacedFileIsAnErrorAndLeftAlone() {
    const Writer writer = begun();
    QVERIFY(writer);
    fs::remove(path("a.highwater"));
    const Writer other = create(path("a.highwater"));
    QVERIFY(other);
    feedFrames(firstFrames(10), *other);
    feedFrames(laterFrames(15), *writer);
    QTRY_VERIFY(contains(writer->errorText(), "another file has its name now"));
    QVERIFY(!writer->close().ok());
    QVERIFY(fs::exists(path("a.highwater-wal")));  // the other's
    QVERIFY(other->close().ok());
    QCOMPARE(readFrames(path("a.highwater")).frames.size(), 10u);
    QCOMPARE(filesIn(*folder_), QStringList{"a.highwater"});
  }

  void aMovedFileIsWrittenToItsEnd() {
    const Writer writer = begun();
    QVERIFY(writer);
    fs::rename(path("a.highwater"), path("b.highwater"));
    feedFrames(laterFrames(15), *writer);
    const auto closed = writer->close();
    QVERIFY(!closed.ok() && contains(closed.error().message, "was moved while it was written"));
    QCOMPARE(filesIn(*folder_), QStringList{"b.highwater"});
    QVERIFY(readFrames(path("b.highwater")).frames == sampleFrames());
  }

  void aMoveIsSaidAtTheEndOnly() {
    const Writer writer = begun();
    QVERIFY(writer);
    fs::rename(path("a.highwater"), path("b.highwater"));
    feedFrames(laterFrames(15), *writer);
    QVERIFY(isCheckpointed(path("b.highwater"), sampleFrames().size()));
    QCOMPARE(writer->errorText(), std::string());
    const auto closed = writer->close();
    QVERIFY(!closed.ok() && contains(closed.error().message, "it has another name now"));
    QVERIFY(readFrames(path("b.highwater")).frames == sampleFrames());
  }

  void aFileThatCameBackIsComplete() {
    const Writer writer = begun();
    QVERIFY(writer);
    fs::rename(path("a.highwater"), path("b.highwater"));
    feedFrames(laterFrames(15), *writer);
    QVERIFY(isCheckpointed(path("b.highwater"), sampleFrames().size()));
    fs::rename(path("b.highwater"), path("a.highwater"));
    const auto closed = writer->close();
    QVERIFY2(closed.ok(), closed.ok() ? "" : closed.error().message.c_str());
    QVERIFY(readFrames(path("a.highwater")).frames == sampleFrames());
    QCOMPARE(filesIn(*folder_), QStringList{"a.highwater"});
  }

  void aMovedFolderIsSaidAtTheEndOnly() {
    fs::create_directory(path("runs"));
    const Writer writer = create(path("runs") / "a.highwater");
    QVERIFY(writer);
    feedFrames(firstFrames(15), *writer);
    fs::rename(path("runs"), path("kept"));
    feedFrames(laterFrames(15), *writer);
    QVERIFY(isCheckpointed(path("kept") / "a.highwater", sampleFrames().size()));
    QCOMPARE(writer->errorText(), std::string());
    const auto closed = writer->close();
    QVERIFY(!closed.ok() && contains(closed.error().message, "was moved while it was written"));
    QVERIFY(readFrames(path("kept") / "a.highwater").frames == sampleFrames());
  }

  void aFileThatMayNotBeLockedLeavesNothing() {
    if (::geteuid() == 0) QSKIP("root may open every file");
    const mode_t before = ::umask(0777);
    const auto writer = store::RecordingWriter::create(path("a.highwater"));
    ::umask(before);
    QVERIFY(!writer.ok() && writer.error().code == ErrorCode::kNoPermission);
    QCOMPARE(filesIn(*folder_), QStringList());
  }

  void anOverwrittenFileIsAnError() {
    const Writer writer = begun();
    QVERIFY(writer);
    QVERIFY(isCheckpointed(path("a.highwater"), 15));
    QVERIFY(writeBytes(path("a.highwater"), QByteArray(200'000, 'x')));
    feedFrames(laterFrames(15), *writer);
    const auto closed = writer->close();
    QVERIFY(!closed.ok());
    QVERIFY2(contains(closed.error().message, "a.highwater"), closed.error().message.c_str());
  }

  void discardSparesWhatTookItsPlace() {
    const Writer writer = begun();
    QVERIFY(writer);
    fs::remove(path("a.highwater"));
    QVERIFY(writeBytes(path("a.highwater"), "somebody's work"));
    writer->discard();
    QCOMPARE(bytesOf(path("a.highwater")), "somebody's work");
  }

  void aFifoIsNotOpened() {
#ifdef __linux__
    QCOMPARE(::mkfifo(path("fifo").c_str(), 0600), 0);
    const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    QVERIFY(::inotify_add_watch(watch, path("fifo").c_str(), IN_OPEN) >= 0);
    QVERIFY(!store::isBeingWritten(path("fifo")));
    char event[256];
    const bool opened = ::read(watch, event, sizeof event) > 0;
    ::close(watch);
    QVERIFY(!opened);
#else
    QSKIP("needs inotify");
#endif
  }

  void saysWhatKeepsAFolderFromTakingIt() {
    if (!fs::is_directory("/proc")) QSKIP("there is no /proc");
    const auto writer = store::RecordingWriter::create("/proc/x.highwater");
    QVERIFY(!writer.ok());
    QVERIFY2(contains(writer.error().message, "its folder takes no files") ||
                 writer.error().code == ErrorCode::kNoPermission,
             writer.error().message.c_str());
  }
};

HIGHWATER_TEST(TestRecordingPlace, QCoreApplication)
#include "tst_recording_place.moc"
