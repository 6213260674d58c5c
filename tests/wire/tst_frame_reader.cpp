#include "messages.h"
#include "support/test_program.h"
#include "wire/codec.h"
#include "wire/frame_reader.h"

using namespace highwater;
using namespace highwater::wire;

class TestFrameReader : public QObject {
  Q_OBJECT

 private slots:
  void splitsAStreamThatArrivesInAnyPieces() {
    std::mt19937_64 random(3);
    const test::GoodBatch batch;
    for (int round = 0; round < 100; ++round) {
      std::vector<FrameBytes> sent;
      FrameBytes stream;
      for (std::uint64_t i = random() % 20 + 1; i > 0; --i) {
        sent.push_back(i % 2 == 0 ? encode(test::hello()) : encode(batch.view()));
        stream.insert(stream.end(), sent.back().begin(), sent.back().end());
      }
      FrameReader reader;
      std::vector<FrameBytes> got;
      for (std::size_t at = 0; at < stream.size();) {
        const std::size_t n = std::min<std::size_t>(random() % 700 + 1, stream.size() - at);
        reader.append(std::span(stream).subspan(at, n));
        at += n;
        for (;;) {
          const auto frame = reader.next();
          QVERIFY(frame.ok());
          if (!frame->has_value()) break;
          got.emplace_back((*frame)->begin(), (*frame)->end());
        }
      }
      QCOMPARE(got, sent);
    }
  }

  void refusesAClaimedSizeOutOfLimits() {
    FrameReader reader;
    const std::array<std::uint8_t, 4> huge = {0xff, 0xff, 0xff, 0x7f};
    reader.append(huge);
    const auto frame = reader.next();
    QVERIFY(!frame);
    QCOMPARE(frame.error().code, ErrorCode::kMalformed);

    FrameReader tiny;
    tiny.append(std::array<std::uint8_t, 4>{1, 0, 0, 0});
    QVERIFY(!tiny.next());
  }

  void refusesPrintedText() {
    FrameReader reader;
    const std::string text = "step 1 loss 1.09\nstep 2 loss 1.02\n";
    reader.append({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    const auto frame = reader.next();
    QVERIFY(!frame);
    QVERIFY(frame.error().message.starts_with("not a stream of frames"));
  }

  void refusesAWrongIdentifierBeforeTheFrameIsWhole() {
    FrameBytes frame = encode(test::hello());
    frame[8] = 'X';
    FrameReader reader;
    reader.append(std::span(frame).first(12));
    QVERIFY(!reader.next());
  }
};

HIGHWATER_TEST(TestFrameReader, QCoreApplication)
#include "tst_frame_reader.moc"
