#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/messages.h"
#include "probe/readings/device_span_meter.h"
#include "worker/training/atomic_adamw.h"

namespace highwater::worker {

/// What a training run trains: model, data, loss and optimizer. The loop (Training) calls each
/// function on the training thread, in the phase of the step that it belongs to. Any of them may
/// throw.
class Workload {
 public:
  virtual ~Workload() = default;

  /// Fills in what the workload knows of the run: data, model, limits.
  virtual void describe(RunDescription& run) const = 0;
  /// The parameters that are trained.
  [[nodiscard]] virtual std::vector<torch::Tensor> parameters() const = 0;
  /// The same parameters with the paths that they have in the model: "layers.0.widen.weight".
  [[nodiscard]] virtual std::vector<std::pair<std::string, torch::Tensor>> namedParameters()
      const = 0;
  /// Switches the model to evaluation, without dropout, until the next beginStep(). A loss is then
  /// the same on every device, but for rounding.
  virtual void useEvaluationMode() = 0;
  /// Converts the model to float64. Not on MPS, which has none. The optimizer must not be used
  /// afterwards.
  virtual void useFloat64() = 0;
  /// All tensors of the model that a checkpoint keeps, with their names: parameters and buffers.
  [[nodiscard]] virtual std::vector<std::pair<std::string, torch::Tensor>> modelState() const = 0;
  /// Writes, as text, the place in the data and what else the next batches depend on, except for
  /// PyTorch's generators.
  virtual void savePosition(std::ostream& /*out*/) const {}
  /// Goes on where savePosition() was. Sets failbit where the text is another one, or of other
  /// data.
  virtual void loadPosition(std::istream& /*in*/) {}
  /// The optimizer of the parameters.
  [[nodiscard]] virtual AtomicAdamW& optimizer() = 0;

  /// Puts the model into training mode. Returns the sequence length of the step, 1 to `planned`.
  [[nodiscard]] virtual std::uint32_t beginStep(std::uint32_t planned) = 0;
  /// Makes the step's batch in host memory.
  virtual void assemble(const Knobs& knobs) = 0;
  /// Moves the batch to the device.
  virtual void moveToDevice() = 0;
  /// The tensors of the batch, which must be where the model is.
  [[nodiscard]] virtual std::vector<torch::Tensor> batch() const = 0;
  /// Runs the model on the batch and returns the loss, a scalar tensor.
  [[nodiscard]] virtual torch::Tensor loss() = 0;
  /// Runs the backward pass of the loss that loss() returned.
  virtual void backward(torch::Tensor& loss) { loss.backward(); }
  /// Whether to call log() at every step, in the phase "loss read".
  [[nodiscard]] virtual bool logs() const { return false; }
  virtual void log(std::uint32_t /*step*/) {}
  /// Releases the step's tensors. Also after any of the functions above has thrown.
  virtual void endStep() = 0;
  /// Takes back the batches of a step that was not trained: the next steps get them. Releases the
  /// step's tensors.
  virtual void dropStep() { endStep(); }

  /// The result of an evaluation on data that is held out of the training.
  struct Score {
    std::uint32_t samples = 0;
    double accuracy = 0;  ///< 0 to 1
    double loss = 0;
  };
  /// Evaluates the model, `batchSize` samples at a time. `spans` may be nullptr; its readings may
  /// be taken where the host waits anyway.
  [[nodiscard]] virtual Score evaluate(std::uint32_t sequenceLength, std::uint32_t batchSize,
                                       probe::DeviceSpanMeter* spans) = 0;
};

}  // namespace highwater::worker
