#include "worker/training/scenario.h"

#include <cstdio>
#include <functional>
#include <istream>
#include <map>
#include <ostream>
#include <random>

#include "worker/data/noisy_texts.h"

namespace highwater::worker {
namespace {

using Program = ScenarioProgram;

/// Prints the predicted label of each row at every step.
class ChattyLogging : public Program {
 public:
  using Program::Program;
  bool logs() const override { return true; }
  void log(std::uint32_t step, const torch::Tensor& logits) override {
    const torch::Tensor predicted = logits.argmax(1).to(torch::kCPU);
    std::string line;
    for (std::int64_t row = 0; row < predicted.size(0); ++row) {
      const auto label = static_cast<std::size_t>(predicted[row].item<std::int64_t>());
      line += ' ' + material_.data.labelNames[label];
    }
    std::fprintf(stderr, "step %u predicts%s\n", step, line.c_str());
  }
};

/// Uses an embedding with max_norm, whose op falls back on every Mac, and a hinge loss, which has
/// no MPS kernel for forward and backward.
class HiddenFallback : public Program {
 public:
  using Program::Program;
  void prepare(torch::nn::Module& model) override {
    for (const auto& module : model.named_modules()) {
      auto* embedding = module.value()->as<torch::nn::EmbeddingImpl>();
      if (embedding && module.key() == "tokens") embedding->options.max_norm(kMaxNorm);
    }
  }
  torch::Tensor loss(const torch::Tensor& logits, const torch::Tensor& labels) override {
    return torch::nn::functional::multi_margin_loss(logits, labels);
  }

 private:
  static constexpr double kMaxNorm = 1.0;
};

/// Augments and tokenizes every batch on the training thread.
class HostBound : public Program {
 public:
  explicit HostBound(const Material& material)
      : Program(material), noisy_(material.data.train.texts, material.seed) {}
  HostBatch assemble(const std::vector<std::size_t>& rows, std::uint32_t length) override {
    LabelledTexts texts;
    std::vector<std::size_t> all;
    for (const std::size_t row : rows) {
      all.push_back(texts.size());
      texts.texts.push_back(noisy_.next(material_.data.train.texts[row]));
      texts.labels.push_back(material_.data.train.labels[row]);
    }
    return assembleBatch(encodeTexts(texts, material_.vocabulary), all, length);
  }
  void save(std::ostream& out) const override { noisy_.save(out); }
  void load(std::istream& in) override { noisy_.load(in); }

 private:
  NoisyTexts noisy_;
};

/// Cuts each batch to a random length.
class ShapeChurn : public Program {
 public:
  explicit ShapeChurn(const Material& material) : Program(material), random_(material.seed) {}
  std::uint32_t sequenceLength(std::uint32_t planned) override {
    const std::uint32_t least = std::min(planned, kShortest);
    return least + static_cast<std::uint32_t>(random_() % (planned - least + 1));
  }
  void save(std::ostream& out) const override { out << random_ << ' '; }
  void load(std::istream& in) override { in >> random_; }

 private:
  static constexpr std::uint32_t kShortest = 8;
  std::mt19937_64 random_;
};

/// Keeps every loss tensor, as if to plot them at the end; retain_graph keeps their graphs too.
class MemoryGrowth : public Program {
 public:
  using Program::Program;
  void backward(torch::Tensor& loss) override {
    loss.backward({}, /*retain_graph=*/true);
    losses_.push_back(loss);
  }

 private:
  std::vector<torch::Tensor> losses_;
};

template <typename P>
std::unique_ptr<Program> make(const Program::Material& material) {
  return std::make_unique<P>(material);
}

}  // namespace

HostBatch ScenarioProgram::assemble(const std::vector<std::size_t>& rows,
                                    std::uint32_t sequenceLength) {
  return assembleBatch(material_.encoded, rows, sequenceLength);
}

torch::Tensor ScenarioProgram::loss(const torch::Tensor& logits, const torch::Tensor& labels) {
  return torch::nn::functional::cross_entropy(logits, labels);
}

Result<std::unique_ptr<ScenarioProgram>> makeScenarioProgram(const std::string& key,
                                                             const Program::Material& material) {
  static const std::map<std::string, std::unique_ptr<Program> (*)(const Program::Material&)>
      kMakers{
          {"plain", &make<Program>},
          {"chatty_logging", &make<ChattyLogging>},
          {"hidden_fallback", &make<HiddenFallback>},
          {"host_bound", &make<HostBound>},
          {"shape_churn", &make<ShapeChurn>},
          {"memory_growth", &make<MemoryGrowth>},
      };
  const auto found = kMakers.find(key);
  if (found == kMakers.end()) return failure("no program is called \"" + key + '"');
  return found->second(material);
}

}  // namespace highwater::worker
