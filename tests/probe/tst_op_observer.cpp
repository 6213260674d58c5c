#include <QTest>

#include "worker/worker_process.h"

using namespace highwater;
using worker::test::Stream;
using worker::test::WorkerProcess;

/// The observer on real ops of a device, in a process that has libtorch.
class TestOpObserver : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void reportsFallbacks();
  void reportsSyncPoints();

 private:
  Stream stream_;
};

void TestOpObserver::initTestCase() {
  WorkerProcess process(OBSERVER_CHECK, {SIMMPS_LIBRARY}, {});
  const int code = process.finish();
  QVERIFY2(code == 0, qPrintable(process.errors()));
  stream_ = process.stream();
  QCOMPARE(stream_.complaint, QString());
}

void TestOpObserver::reportsFallbacks() {
  QCOMPARE(stream_.fallbacks.size(), std::size_t{2});
  const auto& svd = stream_.fallbacks[0];
  QCOMPARE(svd.step(), 1u);
  QVERIFY2(stream_.nameOf(svd.op()).find("linalg_svd") != std::string::npos,
           stream_.nameOf(svd.op()).c_str());
  QCOMPARE(svd.bytes_to_cpu(), std::uint64_t{6 * 4 * 4});
  QCOMPARE(svd.bytes_to_device(), std::uint64_t{(6 * 4 + 4 + 4 * 4) * 4});
  QVERIFY(svd.duration_ns() > 0);
  QVERIFY(svd.wait_ns() > 0 && svd.wait_ns() <= svd.duration_ns());

  const auto& renorm = stream_.fallbacks[1];
  QCOMPARE(renorm.step(), 3u);
  QCOMPARE(stream_.nameOf(renorm.op()), std::string("aten::embedding_renorm_"));
  QCOMPARE(renorm.bytes_to_cpu(), std::uint64_t{10 * 4 * 4 + 4 * 8});
  QCOMPARE(renorm.bytes_to_device(), std::uint64_t{10 * 4 * 4});
}

void TestOpObserver::reportsSyncPoints() {
  std::map<std::uint32_t, std::vector<events::SyncPoint>> byStep;
  for (const auto& sync : stream_.syncPoints) byStep[sync.step()].push_back(sync);
  // A fallback's own waits are a part of it.
  QVERIFY(byStep[1].empty());
  QVERIFY(byStep[3].empty());
  const auto only = [&byStep](std::uint32_t step) {
    return byStep[step].size() == 1 ? byStep[step][0] : events::SyncPoint();
  };
  QCOMPARE(byStep[2].size(), std::size_t{2});
  QCOMPARE(byStep[2][0].kind(), events::SyncKind::CopyToDevice);
  QCOMPARE(byStep[2][0].bytes(), std::uint64_t{160});
  QCOMPARE(only(4).kind(), events::SyncKind::ScalarRead);
  QCOMPARE(stream_.nameOf(only(4).op()), std::string("aten::_local_scalar_dense"));
  QCOMPARE(only(5).kind(), events::SyncKind::CopyToHost);
  QCOMPARE(only(5).bytes(), std::uint64_t{96});
  QCOMPARE(only(6).kind(), events::SyncKind::Nonzero);
  QCOMPARE(only(7).kind(), events::SyncKind::Synchronize);
  QVERIFY(byStep[8].empty());
}

QTEST_GUILESS_MAIN(TestOpObserver)
#include "tst_op_observer.moc"
