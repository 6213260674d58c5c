#include <sys/socket.h>

#include <span>

#include "session/frame_channel.h"
#include "support/sample_run.h"
#include "support/socket_buffers.h"
#include "support/test_program.h"
#include "wire/codec.h"

using namespace highwater;
using namespace highwater::session;

namespace {

void write(const UniqueFd& peer, std::span<const std::uint8_t> bytes) {
  QCOMPARE(::send(peer.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
}

}  // namespace

class TestFrameChannel : public QObject {
  Q_OBJECT

 private:
  /// The frames of a valid stream: Hello, RunDescription, Definitions, batches.
  std::vector<wire::FrameBytes> frames_;
  UniqueFd peer_;
  std::unique_ptr<FrameChannel> channel_;
  std::unique_ptr<QSignalSpy> received_, violated_, ended_;
  std::vector<std::size_t> kinds_;  ///< indices of the messages that the handler got
  std::function<void()> onMessage_;

  void open(std::string token = {}) {
    auto pair = socketPair();
    QVERIFY(pair);
    peer_ = std::move(pair->second);
    const auto handler = [this](std::span<const std::uint8_t> /*frame*/, const Message& message) {
      kinds_.push_back(message.index());
      if (onMessage_) onMessage_();
    };
    channel_ = std::make_unique<FrameChannel>(std::move(pair->first), std::move(token), handler);
    received_ = std::make_unique<QSignalSpy>(channel_.get(), &FrameChannel::received);
    violated_ = std::make_unique<QSignalSpy>(channel_.get(), &FrameChannel::violated);
    ended_ = std::make_unique<QSignalSpy>(channel_.get(), &FrameChannel::ended);
  }

 private slots:
  void initTestCase() {
    test::forEachMessage(test::makeSampleRun({.steps = 2, .ended = false}),
                         [this](const Message& m) { frames_.push_back(wire::encode(m)); });
    QVERIFY(frames_.size() >= 4);
  }
  void init() {
    kinds_.clear();
    onMessage_ = nullptr;
    open();
  }

  void bothEndsOfAPairHaveLargeBuffers() {
    const auto pair = socketPair();
    QVERIFY(pair);
    QVERIFY(test::hasGrownBuffers(pair->first.get()));
    QVERIFY(test::hasGrownBuffers(pair->second.get()));
  }

  void joinsAFrameThatCameInPieces() {
    const std::span<const std::uint8_t> second = frames_[1];
    write(peer_, frames_[0]);
    write(peer_, second.first(9));
    QTRY_COMPARE(kinds_.size(), std::size_t(1));
    write(peer_, second.subspan(9));
    QTRY_COMPARE(kinds_, (std::vector<std::size_t>{0, 1}));
    QCOMPARE(violated_->count(), 0);
  }

  void bytesOfAnUnfinishedFrameDoNotCount() {
    const std::span<const std::uint8_t> hello = frames_[0];
    for (std::size_t i = 0; i + 1 < hello.size(); i += 16) {
      write(peer_, hello.subspan(i, std::min<std::size_t>(16, hello.size() - 1 - i)));
      QCoreApplication::processEvents();
    }
    QCOMPARE(received_->count(), 0);
    write(peer_, hello.last(1));
    QTRY_COMPARE(received_->count(), 1);
    QCOMPARE(kinds_.size(), std::size_t(1));
  }

  void closesAtAViolation() {
    write(peer_, std::vector<std::uint8_t>(64, 'x'));
    QTRY_COMPARE(violated_->count(), 1);
    QVERIFY(!channel_->isOpen());
    QCOMPARE(ended_->count(), 0);
    const auto sent = channel_->send(Welcome{1});
    QVERIFY(!sent && sent.error().code == ErrorCode::kEnded);
  }

  void closesAtAWrongToken() {
    open("secret");
    write(peer_, frames_[0]);
    QTRY_COMPARE(violated_->count(), 1);
    QVERIFY(kinds_.empty());
  }

  void readsOnWhenThePeerIsGone() {
    write(peer_, frames_[0]);
    write(peer_, frames_[1]);
    peer_.reset();
    QVERIFY(channel_->send(Welcome{1}));  // fails with EPIPE, which only reading explains
    QTRY_COMPARE(ended_->count(), 1);
    QCOMPARE(kinds_, (std::vector<std::size_t>{0, 1}));
    QVERIFY(!channel_->isOpen());
  }

  void refusesWhatThePeerDoesNotRead() {
    Result<void> sent;
    for (int i = 0; i < 1'000'000 && sent; ++i) sent = channel_->send(Welcome{1});
    QVERIFY(!sent && sent.error().code == ErrorCode::kFailed);
    QVERIFY(channel_->isOpen());
  }

  void writesEverythingOnceThePeerReads() {
    int sent = 0;
    while (channel_->send(Welcome{1})) ++sent;
    wire::FrameReader reader;
    int read = 0;
    std::vector<std::uint8_t> buffer(64 << 10);
    const auto readSome = [&] {
      const ssize_t n = ::recv(peer_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (n > 0) reader.append({buffer.data(), static_cast<std::size_t>(n)});
      for (auto frame = reader.next(); frame && frame->has_value(); frame = reader.next()) ++read;
      return read == sent;
    };
    QTRY_VERIFY(readSome());
  }

  void theHandlerMayClose() {
    onMessage_ = [this] { channel_->close(); };
    write(peer_, frames_[0]);
    write(peer_, frames_[1]);
    QTRY_COMPARE(kinds_.size(), std::size_t(1));
    QCoreApplication::processEvents();
    QCOMPARE(kinds_.size(), std::size_t(1));
    QCOMPARE(ended_->count() + violated_->count() + received_->count(), 0);
  }
};

HIGHWATER_TEST(TestFrameChannel, QCoreApplication)
#include "tst_frame_channel.moc"
