#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "worker/batches.h"
#include "worker/data_set.h"
#include "worker/tokenizer.h"

namespace highwater::worker {

/// What a training program does at the places where programs differ; this class itself does it
/// well. A scenario's program does one of it as people do who have that scenario's problem. All on
/// the training thread.
class ScenarioProgram {
 public:
  /// What it trains on; outlives the program.
  struct Material {
    const DataSet& data;
    const EncodedTexts& encoded;  ///< of data.train
    const Vocabulary& vocabulary;
    std::uint64_t seed = 0;
  };
  explicit ScenarioProgram(const Material& material) : material_(material) {}
  virtual ~ScenarioProgram() = default;

  /// Before the first step, with the model on its device.
  virtual void prepare(torch::nn::Module& /*model*/) {}
  /// The length of the next batch, 1 to `planned`.
  virtual std::uint32_t sequenceLength(std::uint32_t planned) { return planned; }
  [[nodiscard]] virtual HostBatch assemble(const std::vector<std::size_t>& rows,
                                           std::uint32_t sequenceLength);
  [[nodiscard]] virtual torch::Tensor loss(const torch::Tensor& logits,
                                           const torch::Tensor& labels);
  virtual void backward(torch::Tensor& loss) { loss.backward(); }
  /// True: log() is called at every step, within the phase "loss read".
  [[nodiscard]] virtual bool logs() const { return false; }
  virtual void log(std::uint32_t /*step*/, const torch::Tensor& /*logits*/) {}

 protected:
  const Material material_;
};

/// The program of a scenario (core/scenarios.h), by its key. kUsage where there is none.
[[nodiscard]] Result<std::unique_ptr<ScenarioProgram>> makeScenarioProgram(
    const std::string& key, const ScenarioProgram::Material& material);

}  // namespace highwater::worker
