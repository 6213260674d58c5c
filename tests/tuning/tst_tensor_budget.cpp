#include "core/units.h"
#include "support/test_program.h"
#include "tuning/tensor_budget.h"

using namespace highwater;
using namespace highwater::tuning;

namespace {

const ModelSizes kBase{.parameters = 1'000'000, .features = 768, .heads = 12, .layers = 4};

/// The product in 128 bits, cut to what the budget can hold.
std::uint64_t wide(std::initializer_list<std::uint64_t> factors) {
  unsigned __int128 all = 1;
  for (const std::uint64_t each : factors) {
    if (each == 0) return 0;
    all = std::min<unsigned __int128>(all * each, kTooManyBytes);
  }
  return static_cast<std::uint64_t>(all);
}

}  // namespace

class TestTensorBudget : public QObject {
  Q_OBJECT

 private slots:
  void theTensorThatPeopleLearnWith() {
    const TensorBudget budget = tensorBudget({32, 128}, kBase);
    QCOMPARE(budget.tokens, 4096u);
    QCOMPARE(budget.hidden, 12 * kMiB);
    QCOMPARE(budget.attention, std::uint64_t{32} * 12 * 128 * 128 * 4);
    QCOMPARE(budget.weights, 4'000'000u);
    QCOMPARE(budget.gradients, 4'000'000u);
    QCOMPARE(budget.optimizer, 8'000'000u);
    QCOMPARE(budget.fixed(), 16'000'000u);
  }

  void saysItInSentences() {
    const auto lines = budgetLines({32, 128}, kBase);
    QCOMPARE(lines.size(), 4u);
    QCOMPARE(lines[0], std::string("Token positions: 32 × 128 = 4096"));
    QCOMPARE(lines[1], std::string("A hidden state: 32 × 128 × 768 float32 = 12.0 MiB (half the "
                                   "batch: 6.0 MiB, half the length: 6.0 MiB)"));
    QCOMPARE(lines[2], std::string("Attention scores of a layer: 32 × 12 × 128² float32 = 24.0 "
                                   "MiB (half the batch: 12.0 MiB, half the length: 6.0 MiB)"));
    QVERIFY(lines[3].starts_with("Weights 3.8 MiB, gradients 3.8 MiB, optimizer state 7.6 MiB"));
  }

  void leavesOutWhatIsUnknown() {
    QVERIFY(budgetLines({32, 1}, {}).empty());
    QCOMPARE(tensorBudget({32, 128}, {.features = 768, .dtype = "complex256"}).hidden, 0u);
  }

  void dtypesAndOptimizers() {
    QCOMPARE(bytesOfDtype("torch.bfloat16"), 2u);
    QCOMPARE(bytesOfDtype("bool"), 1u);
    QCOMPARE(bytesOfDtype(""), 0u);
    QCOMPARE(optimizerValues("AdamW"), 2u);
    QCOMPARE(optimizerValues("RMSprop"), 1u);
    QCOMPARE(optimizerValues("SGD"), 0u);
    QCOMPARE(optimizerValues("RMSprop, SGD"), 1u);  // of a script with two
    QCOMPARE(optimizerValues("SGD, AdamW"), 2u);
  }

  /// Against arithmetic in 128 bits, with sizes up to the largest of their types.
  void neverOverflows() {
    std::mt19937_64 random(7);
    for (int i = 0; i < 2000; ++i) {
      const auto number = [&random] { return random() >> (random() % 64); };
      const Setting setting{static_cast<std::uint32_t>(number()),
                            static_cast<std::uint32_t>(number())};
      const ModelSizes model{.parameters = number(), .features = number(), .heads = number()};
      const TensorBudget budget = tensorBudget(setting, model);
      QCOMPARE(budget.tokens, std::uint64_t{setting.batch} * setting.length);
      QCOMPARE(budget.hidden, wide({setting.batch, setting.length, model.features, 4}));
      QCOMPARE(budget.attention,
               wide({setting.batch, setting.length, setting.length, model.heads, 4}));
      QCOMPARE(budget.optimizer, wide({model.parameters, 4, 2}));
      QVERIFY(budget.fixed() >= budget.weights && budget.fixed() >= budget.optimizer);
      QVERIFY(!budgetLines(setting, model).empty() || model.parameters == 0);
    }
  }

  void halvesHalve() {
    for (std::uint32_t batch = 2; batch <= 512; batch *= 2) {
      for (std::uint32_t length = 2; length <= 512; length *= 2) {
        const TensorBudget whole = tensorBudget({batch, length}, kBase);
        const TensorBudget rows = tensorBudget({batch / 2, length}, kBase);
        const TensorBudget half = tensorBudget({batch, length / 2}, kBase);
        QCOMPARE(rows.hidden * 2, whole.hidden);
        QCOMPARE(rows.attention * 2, whole.attention);
        QCOMPARE(half.hidden * 2, whole.hidden);
        QCOMPARE(half.attention * 4, whole.attention);
        QCOMPARE(rows.fixed(), whole.fixed());
      }
    }
  }
};

HIGHWATER_TEST(TestTensorBudget, QCoreApplication)
#include "tst_tensor_budget.moc"
