#include "frames.h"
#include "store/append.h"
#include "store/database.h"
#include "store/format.h"
#include "store/recording_reader.h"
#include "support/test_program.h"
#include "wire/validator.h"

using namespace highwater;
using namespace highwater::test;

namespace {

Result<void> append(const std::filesystem::path& path) {
  return store::appendAcceptance(path, wire::encode(kAcceptance), kAcceptance);
}

}  // namespace

class TestAppend : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  std::filesystem::path recorded(const char* name) {
    const auto path = pathIn(folder_.path(), name);
    auto writer = store::RecordingWriter::create(path);
    if (!writer) return {};
    feedFrames(sampleFrames(), **writer);
    return (*writer)->close() ? path : std::filesystem::path();
  }

 private slots:
  void addsOneFrameBehindTheOthers() {
    const auto path = recorded("a.highwater");
    const ReadBack before = readFrames(path);
    const auto added = append(path);
    QVERIFY2(added.ok(), added ? "" : added.error().message.c_str());
    const ReadBack after = readFrames(path);
    QVERIFY(after.result.ok());
    QCOMPARE(after.frames.size(), before.frames.size() + 1);
    QVERIFY(std::equal(before.frames.begin(), before.frames.end(), after.frames.begin()));

    wire::Validator validator(wire::StreamSource::kRecording);
    for (const wire::FrameBytes& frame : after.frames) {
      const auto message = wire::decode(frame);
      QVERIFY(message.ok() && validator.check(*message).ok());
    }
    const auto last = wire::decode(after.frames.back());
    QCOMPARE(std::get<FallbackAcceptance>(*last).reason, kAcceptance.reason);
    QVERIFY(!std::filesystem::exists(path.string() + "-wal"));
  }

  void addsANote() {
    const auto path = recorded("note.highwater");
    const ReadBack before = readFrames(path);
    const auto version = [&path](int to = 0) {
      auto db = store::Database::open(path, SQLITE_OPEN_READWRITE);
      if (db && to > 0) {
        (void)db->execute(("DROP TABLE host_samples; "
                           "PRAGMA user_version = " +
                           std::to_string(to))
                              .c_str());
      }
      return db ? QString::fromStdString(*db->value("PRAGMA user_version")) : QString();
    };
    // Of the format before, whose readers do not know notes.
    QCOMPARE(version(4), QString("4"));
    const Note note{1'500'000'000, 12, "here the loss jumps", 7};
    const auto added = store::appendNote(path, wire::encode(note), note);
    QVERIFY2(added.ok(), added ? "" : added.error().message.c_str());
    QCOMPARE(version(), QString::number(store::kFormatOfNotes));
    const ReadBack after = readFrames(path);
    QCOMPARE(after.frames.size(), before.frames.size() + 1);
    const auto last = wire::decode(after.frames.back());
    QCOMPARE(std::get<Note>(*last).text, note.text);
    QCOMPARE(std::get<Note>(*last).timeNs, note.timeNs);
    auto reader = store::RecordingReader::open(path);
    QVERIFY(reader.ok() && reader->findDamage().empty());
    auto db = store::Database::open(path, SQLITE_OPEN_READONLY);
    const auto row = db->value(
        "SELECT time_ms || ' ' || step || ' ' || text FROM markers WHERE kind = 'note' "
        "ORDER BY rowid DESC");
    QCOMPARE(QString::fromStdString(*row), QString("1500.0 12 here the loss jumps"));
  }

  void anOldFormatHasNoNotes() {
    const auto path = recorded("old.highwater");
    {
      auto db = store::Database::open(path, SQLITE_OPEN_READWRITE);
      QVERIFY(db->execute("DROP TABLE checksums; DROP TABLE host_samples; PRAGMA user_version = 2;")
                  .ok());
      QVERIFY(db->execute(store::kCreateSummaries).ok());
    }
    const QByteArray before = bytesOf(path);
    const Note note{0, 0, "late", 7};
    const auto added = store::appendNote(path, wire::encode(note), note);
    QVERIFY(!added && added.error().code == ErrorCode::kVersionMismatch);
    QVERIFY(added.error().message.find("format 2, and notes need format 3") != std::string::npos);
    QCOMPARE(bytesOf(path), before);
  }

  void refusesWhatIsNoRecording() {
    const auto missing = append(pathIn(folder_.path(), "missing"));
    QVERIFY(!missing && missing.error().code == ErrorCode::kNotFound);
    const auto text = pathIn(folder_.path(), "text");
    QVERIFY(writeBytes(text, "no recording"));
    QVERIFY(!append(text).ok());
    QCOMPARE(bytesOf(text), QByteArray("no recording"));
  }

  void refusesARunThatGoesOn() {
    const auto path = pathIn(folder_.path(), "live.highwater");
    auto writer = store::RecordingWriter::create(path);
    QVERIFY(writer.ok());
    const auto added = append(path);
    QVERIFY(!added && added.error().message.find("is being written by a running process") !=
                          std::string::npos);
    feedFrames(sampleFrames(), **writer);
    QVERIFY((*writer)->close().ok());
    QCOMPARE(readFrames(path).frames.size(), sampleFrames().size());
  }
};

HIGHWATER_TEST(TestAppend, QCoreApplication)
#include "tst_append.moc"
