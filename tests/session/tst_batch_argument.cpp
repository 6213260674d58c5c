#include <QTest>

#include "session/batch_argument.h"
#include "support/test_program.h"

using namespace highwater;
using session::BatchArgument;
using session::batchArgumentText;

class TestBatchArgument : public QObject {
  Q_OBJECT

 private slots:
  void changesTheArgument_data() {
    QTest::addColumn<QString>("command");
    QTest::addColumn<QString>("changed");
    const auto row = [](const char* command, const char* changed) {
      QTest::newRow(command) << QString::fromLatin1(command) << QString::fromLatin1(changed);
    };
    const char* const loader = "batch_size=48 of the DataLoader";
    row("python train.py --batch-size 32 --lr 1", "python train.py --batch-size 48 --lr 1");
    row("python train.py --batch_size=32", "python train.py --batch_size=48");
    row("python train.py -b 32", "python train.py -b 48");
    row("python train.py --bs 32", "python train.py --bs 48");
    row("python train.py train.batch_size=32", "python train.py train.batch_size=48");
    row("python t.py --per_device_train_batch_size 32 --per_device_eval_batch_size 32",
        "python t.py --per_device_train_batch_size 48 --per_device_eval_batch_size 32");
    row("python train.py --batch-size 64", loader);  // the script has made something else of it
    row("python train.py --epochs 32", loader);
    row("python train.py --num-batches 32", loader);
    row("python train.py --batch-size 32 --batch_size 32", loader);  // which of both is not known
    row("python train.py", loader);
    row("batch 32", loader);
    row("", loader);
  }
  void changesTheArgument() {
    QFETCH(QString, command);
    const BatchArgument change{.command = command.split(u' ', Qt::SkipEmptyParts),
                               .knob = "dataloader_batch_size",
                               .declaredAt = {},
                               .from = 32,
                               .to = 48};
    QTEST(QString::fromStdString(batchArgumentText(change)), "changed");
  }

  void namesTheKnobOfTheScript() {
    const BatchArgument change{.command = {QStringLiteral("python"), QStringLiteral("train.py")},
                               .knob = "size",
                               .declaredAt = "train.py:33",
                               .from = 32,
                               .to = 48};
    QCOMPARE(QString::fromStdString(batchArgumentText(change)),
             QStringLiteral("size = 48 in train.py:33"));
  }
};

HIGHWATER_TEST(TestBatchArgument, QCoreApplication)
#include "tst_batch_argument.moc"
