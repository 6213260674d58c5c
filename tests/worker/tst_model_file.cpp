#include <sys/stat.h>

#include "support/test_program.h"
#include "worker/data/model_file.h"

using namespace highwater;
using namespace highwater::worker;

namespace {

const std::string kGood = R"({
  "inputs": [{"shape": ["batch", "length"], "dtype": "int64", "high": 100},
             {"shape": ["batch", "2*length", 3], "dtype": "float32"}],
  "target": {"shape": ["batch"], "dtype": "int64", "low": 1, "high": 5},
  "loss": "cross_entropy",
  "output": "logits",
  "optimizer": "sgd",
  "learning_rate": 0.05,
  "batch_size": 8,
  "length": 12,
  "max_length": 24
})";

std::string replaced(std::string text, const std::string& old, const std::string& by) {
  const auto at = text.find(old);
  return at == std::string::npos ? "" : text.replace(at, old.size(), by);
}

}  // namespace

class TestModelFile : public QObject {
  Q_OBJECT

 private slots:
  void readsAllKeys() {
    const auto file = parseModelFile(kGood, "model.json");
    QVERIFY2(file.ok(), file.ok() ? "" : file.error().message.c_str());
    QCOMPARE(file->inputs.size(), 2U);
    QVERIFY(file->inputs[0].type == FileTensor::Type::kInt64);
    QCOMPARE(file->inputs[0].high, 100.0);
    QVERIFY(!file->inputs[0].normal);
    QCOMPARE(file->inputs[0].shape[0].with(8, 12), 8);
    QCOMPARE(file->inputs[0].shape[1].with(8, 12), 12);
    QCOMPARE(file->inputs[1].shape[1].with(8, 12), 24);
    QCOMPARE(file->inputs[1].shape[2].with(8, 12), 3);
    QVERIFY(file->inputs[1].normal);
    QCOMPARE(file->target->low, 1.0);
    QVERIFY(file->loss == FileLoss::kCrossEntropy);
    QCOMPARE(std::get<std::string>(file->output), std::string("logits"));
    QCOMPARE(file->optimizer, std::string("sgd"));
    QCOMPARE(file->learningRate, 0.05);
    QCOMPARE(file->batchSize, 8U);
    QCOMPARE(file->length, 12U);
    QCOMPARE(file->maxLength, 24U);
  }

  void fillsInWhatIsAbsent() {
    const auto file = parseModelFile(
        R"({"inputs": [{"shape": ["batch", 20], "dtype": "float32"}], "loss": "of_model"})", "m");
    QVERIFY2(file.ok(), file.ok() ? "" : file.error().message.c_str());
    QVERIFY(!file->target);
    QCOMPARE(std::get<std::size_t>(file->output), 0U);
    QCOMPARE(file->optimizer, std::string("adamw"));
    QCOMPARE(file->maxLength, 1U);  // no shape has a length
    QCOMPARE(file->length, 1U);
  }

  void refuses_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("message");
    const auto row = [](const char* name, const std::string& text, const char* message) {
      QTest::newRow(name) << QString::fromStdString(text) << QString(message);
    };
    const auto change = [&row](const char* name, const std::string& old, const std::string& by,
                               const char* message) {
      row(name, replaced(kGood, old, by), message);
    };
    row("no JSON", "{\"inputs\": ", "\"model.json\" is no JSON");
    row("no object", "[1]", "\"model.json\" is no JSON object");
    change("unknown key", "\"optimizer\"", "\"optimiser\"", "the key \"optimiser\" is unknown");
    change("unknown key of an input", "\"high\": 100", "\"below\": 100",
           "input 0: the key \"below\" is unknown; there are shape, dtype, low, high");
    change("dtype", "\"int64\"", "\"float64\"",
           "input 0: \"dtype\" is \"float64\"; it is one of int64, int32, bool, float32");
    change("loss", "cross_entropy", "hinge", "\"loss\" is \"hinge\"; it is one of cross_entropy");
    change("optimizer", "\"sgd\"", "\"lion\"", "\"optimizer\" is \"lion\"");
    change("a type", "\"batch_size\": 8", "\"batch_size\": \"8\"",
           "\"batch_size\" is \"8\"; allowed are 1 to 4096");
    change("too large a batch", "\"batch_size\": 8", "\"batch_size\": 8000",
           "\"batch_size\" is 8000; allowed are 1 to 4096");
    change("a fraction", "\"batch_size\": 8", "\"batch_size\": 8.5", "\"batch_size\" is 8.5");
    change("too long", "\"length\": 12", "\"length\": 25", "\"length\" is 25; allowed are 1 to 24");
    change("size", "\"2*length\"", "\"2*width\"", "input 1: the size \"2*width\"");
    change("factor", "\"2*length\"", "\"x*length\"", "input 1: the factor of \"x*length\"");
    change("no size", "[\"batch\", \"length\"]", "[\"batch\", 0]", "input 0: a size in \"shape\"");
    change("range", "\"low\": 1", "\"low\": 5", "target: \"low\" is not below \"high\"");
    change("no range", ", \"high\": 100", "", "input 0: \"high\" is missing");
    change("learning rate", "0.05", "-1", "\"learning_rate\" is -1");
    change("no target", "\"target\"", "\"x\"", "the key \"x\" is unknown");
    change("target of nothing", "\"cross_entropy\"", "\"of_model\"", "\"target\" has no use");
    row("no inputs", R"({"loss": "of_model"})", "\"inputs\" is missing");
    row("no target", R"({"inputs": [{"shape": ["batch"], "dtype": "float32"}],
        "loss": "mse_loss"})",
        "\"target\" is missing");
    row("a length that nothing has",
        R"({"inputs": [{"shape": ["batch"], "dtype": "float32"}], "loss": "of_model",
        "length": 3})",
        "\"length\" is given, but no shape has a \"length\"");
    change("a number beyond all", "0.05", "1e400", ": a number of \"learning_rate\" is too large");
    change("a number beyond all in a list", "3]", "-1e999]",
           ": a number of \"shape\" is too large");
    change("no number", "0.05", "NaN", "is no JSON: the error is at byte");
    change("a key twice", "\"low\": 1", "\"high\": 1", ": the key \"high\" is given twice");
    row(
        "deep objects",
        [] {
          std::string text = "0";
          for (int i = 0; i < 20'000; ++i) text = "{\"a\":" + text + '}';
          return text;
        }(),
        "the key \"a\" is unknown");
    row("deep", std::string(200'000, '[') + std::string(200'000, ']'), "no JSON object");
    row("deep in a key",
        "{\"inputs\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}",
        "input 0: a list is no object");
  }

  void refuses() {
    QFETCH(QString, text);
    QFETCH(QString, message);
    const auto file = parseModelFile(text.toStdString(), "model.json");
    QVERIFY(!file.ok());
    QVERIFY(file.error().code == ErrorCode::kMalformed);
    const QString said = QString::fromStdString(file.error().message);
    QVERIFY2(said.contains(message), qPrintable(said));
    QVERIFY2(said.startsWith("\"model.json\""), qPrintable(said));
  }

  void namesAnAbsentFile() {
    QTemporaryDir folder;
    const QString model = folder.filePath("model.pt");
    const auto without = loadModelFile(model.toStdString());
    QVERIFY(!without && without.error().code == ErrorCode::kNotFound);
    QVERIFY(QString::fromStdString(without.error().message).contains("model.pt\" does not exist"));
    QFile file(model);
    QVERIFY(file.open(QIODevice::WriteOnly));
    const auto bare = loadModelFile(model.toStdString());
    QVERIFY(!bare && bare.error().code == ErrorCode::kNotFound);
    QVERIFY(QString::fromStdString(bare.error().message).contains("model.json\" beside it"));
  }

  void refusesWhatIsNoRegularFile() {
    QTemporaryDir folder;
    const auto pathOf = [&](const char* name) { return folder.filePath(QLatin1String(name)); };
    QCOMPARE(::mkfifo(QFile::encodeName(pathOf("pipe.pt")).constData(), 0600), 0);
    QVERIFY(QDir(folder.path()).mkdir("folder.pt"));
    QVERIFY(QFile::link("/dev/zero", pathOf("device.pt")));
    for (const char* name : {"pipe", "folder", "device"}) {
      QFile json(pathOf(name) + ".json");
      QVERIFY(json.open(QIODevice::WriteOnly) && json.write(kGood.c_str()) > 0);
      const auto model = loadModelFile((pathOf(name) + ".pt").toStdString());
      QVERIFY(!model && model.error().code == ErrorCode::kMalformed);
      QVERIFY2(model.error().message.find(".pt\" is no regular file") != std::string::npos,
               model.error().message.c_str());
    }
  }
};

HIGHWATER_TEST(TestModelFile, QCoreApplication)
#include "tst_model_file.moc"
