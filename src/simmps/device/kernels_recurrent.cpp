#include <ATen/ATen.h>
#include <ATen/ops/lstm_native.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "simmps/device/op_graphs.h"
#include "simmps/device/registrations.h"

namespace highwater::simmps {
namespace {

using at::Tensor;
using States = std::vector<Tensor>;

/// Weights of one layer in one direction; biases may be undefined.
struct Cell {
  Tensor inputWeight, hiddenWeight;
  std::optional<Tensor> inputBias, hiddenBias;
};

struct Hidden {
  Tensor h, c;
};

Hidden step(const Tensor& inputGates, const Hidden& last, const Cell& cell) {
  const Tensor gates = at::linear(last.h, cell.hiddenWeight, cell.hiddenBias).add_(inputGates);
  const States parts = gates.unsafe_chunk(4, 1);
  const Tensor in = parts[0].sigmoid_(), forget = parts[1].sigmoid_();
  const Tensor candidate = parts[2].tanh_(), out = parts[3].sigmoid_();
  const Tensor c = (forget * last.c).add_(in * candidate);
  return {out * c.tanh(), c};
}

/// Runs one direction of a layer; returns its outputs and final state. The product with the input
/// is one matrix product for all times, as in the CPU's layer; the stock composite for other
/// devices adds up gradients in another order.
std::pair<Tensor, Hidden> runLayer(const Tensor& input, Hidden state, const Cell& cell,
                                   bool backwards) {
  States gates = at::linear(input, cell.inputWeight, cell.inputBias).unbind(0);
  if (backwards) std::reverse(gates.begin(), gates.end());
  States outputs;
  outputs.reserve(gates.size());
  for (const Tensor& each : gates) {
    state = step(each, state, cell);
    outputs.push_back(state.h);
  }
  if (backwards) std::reverse(outputs.begin(), outputs.end());
  return {at::stack(outputs, 0), state};
}

std::vector<Cell> cellsFrom(at::TensorList weights, bool hasBiases) {
  const std::size_t stride = hasBiases ? 4 : 2;
  std::vector<Cell> cells;
  for (std::size_t i = 0; i + stride <= weights.size(); i += stride) {
    Cell cell{weights[i], weights[i + 1], std::nullopt, std::nullopt};
    if (hasBiases) cell.inputBias = weights[i + 2], cell.hiddenBias = weights[i + 3];
    cells.push_back(std::move(cell));
  }
  return cells;
}

/// aten::lstm.input composed of differentiable ops; real MPS has _lstm_mps. With projections,
/// PyTorch's own composite runs.
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& given, at::TensorList initial,
                                        at::TensorList weights, bool hasBiases, std::int64_t layers,
                                        double dropout, bool train, bool bidirectional,
                                        bool batchFirst) {
  TORCH_CHECK(initial.size() == 2, "lstm expects two hidden states");
  const bool hasProjections = initial[0].size(2) != initial[1].size(2);
  if (hasProjections) {
    return at::native::lstm(given, initial, weights, hasBiases, layers, dropout, train,
                            bidirectional, batchFirst);
  }
  const std::vector<Cell> cells = cellsFrom(weights, hasBiases);
  const States firstH = initial[0].unbind(0), firstC = initial[1].unbind(0);
  const std::size_t directions = bidirectional ? 2 : 1;
  TORCH_CHECK(!cells.empty() && cells.size() == layers * directions &&
                  firstH.size() == cells.size() && firstC.size() == cells.size(),
              "lstm expects weights and hidden states for ", layers * directions, " layers, got ",
              cells.size());
  // Forward only: backward runs the ops' own derivatives, each with its own graph.
  const SingleGraphScope graph("aten::_lstm_mps", {given, initial[0], weights[0], weights.back()});
  Tensor input = batchFirst ? given.transpose(0, 1) : given;
  States lastH, lastC;
  for (std::size_t i = 0; i < cells.size(); i += directions) {
    States outputs;
    for (std::size_t way = 0; way < directions; ++way) {
      const std::size_t slot = i + way;
      auto [output, state] = runLayer(input, {firstH[slot], firstC[slot]}, cells[slot], way == 1);
      outputs.push_back(std::move(output));
      lastH.push_back(std::move(state.h));
      lastC.push_back(std::move(state.c));
    }
    input = bidirectional ? at::cat(outputs, -1) : outputs[0];
    const bool isLast = i + directions == cells.size();
    if (dropout != 0 && train && !isLast) input = at::dropout(input, dropout, true);
  }
  if (batchFirst) input = input.transpose(0, 1);
  return {input, at::stack(lastH, 0), at::stack(lastC, 0)};
}

}  // namespace

void registerRecurrentKernels(torch::Library& library) {
  library.impl("lstm.input", &lstm);
}

}  // namespace highwater::simmps
