#include "probe/observer/op_table.h"

#include <torch/version.h>

#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/torch_version.h"
#include "probe/observer/op_stack.h"

namespace highwater::probe {
namespace {

using c10::DispatchKey;

/// MPSFallback.mm makes these fall back even where the environment does not allow it. Later
/// versions have kernels for the others.
const std::set<std::string_view> kRegisteredToFallBack = {
    "aten::embedding_renorm_",
#if !HIGHWATER_TORCH_AT_LEAST(2, 14)
    "aten::linalg_svd",
    "aten::linalg_svd.U",
#endif
#if !HIGHWATER_TORCH_AT_LEAST(2, 9)
    "aten::col2im",
    "aten::upsample_nearest3d.vec",
#endif
};

/// These check the device and call other ops on `mps`, which have kernels there:
/// _mps_convolution, _lstm_mps, _scaled_dot_product_attention_math_for_mps and their derivatives.
const std::set<std::string_view> kChosenByDevice = {
    "aten::_convolution", "aten::convolution_backward", "aten::lstm.input",
    "aten::scaled_dot_product_attention", "aten::_fused_sdp_choice"};

/// The row "KEY: registered at FILE:LINE [kernel]" of the op's table, without "KEY: "; empty where
/// it has no such row.
std::string rowOf(const c10::OperatorHandle& op, std::string_view key) {
  std::istringstream lines(op.dumpComputedTable());
  const std::string begin = std::string(key) + ": ";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(begin)) return line.substr(begin.size());
  }
  return {};
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The row of an op that MPSFallback.mm registers: it falls back, except for one that only reports
/// an error.
MpsRow rowOfFallbackFile(const std::string& name) {
  return name == "aten::_slow_conv2d_forward" ? MpsRow::kRefuses : MpsRow::kAlwaysFallsBack;
}

std::vector<const c10::Argument*> inputsOf(const c10::FunctionSchema& schema) {
  std::vector<const c10::Argument*> inputs;
  for (const c10::Argument& each : schema.arguments()) {
    if (!each.is_out()) inputs.push_back(&each);
  }
  return inputs;
}

bool takesTheSame(const c10::FunctionSchema& a, const c10::FunctionSchema& b) {
  const auto left = inputsOf(a), right = inputsOf(b);
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i]->name() != right[i]->name() || *left[i]->type() != *right[i]->type()) return false;
  }
  return true;
}

bool hasOut(const c10::FunctionSchema& schema) {
  return inputsOf(schema).size() < schema.arguments().size();
}

}  // namespace

MpsRow OpTable::row(const c10::OperatorName& name) {
  const auto known = rows_.find(name);
  if (known != rows_.end()) return known->second;
  const MpsRow row = read(name);
  rows_.emplace(name, row);
  return row;
}

MpsRow OpTable::read(const c10::OperatorName& name) {
  const std::string full = c10::toString(name);
  if (kChosenByDevice.contains(full)) return MpsRow::kChosenByDevice;
  const auto op = c10::Dispatcher::singleton().findOp(name);
  if (!op) return MpsRow::kRefuses;
  const std::string text = rowOf(*op, "MPS");
  if (text.empty()) return MpsRow::kRefuses;
  if (has(text, "[backend fallback]")) return MpsRow::kFallback;
  if (has(text, "[math kernel]")) return MpsRow::kParts;
  if (has(text, "[default backend kernel]")) {
    const bool cpuToo = has(rowOf(*op, "CPU"), "[default backend kernel]");
    if (cpuToo) return MpsRow::kParts;
    const c10::OperatorName* out = outForm(*op);
    const MpsRow there = out ? row(*out) : MpsRow::kParts;
    return there == MpsRow::kParts ? MpsRow::kUnseenParts : there;
  }
  if (has(text, "MPSFallback.mm")) return rowOfFallbackFile(full);
  return kRegisteredToFallBack.contains(full) ? MpsRow::kAlwaysFallsBack : MpsRow::kKernel;
}

const c10::OperatorName* OpTable::outForm(const c10::OperatorHandle& op) {
  if (hasOut(op.schema())) return nullptr;
  if (overloads_.empty()) {
    for (const auto& each : c10::Dispatcher::singleton().getAllOpNames()) {
      overloads_[each.name].push_back(each);
    }
  }
  for (const auto& each : overloads_[std::string(baseName(op.operator_name().name))]) {
    const auto other = c10::Dispatcher::singleton().findOp(each);
    if (other && other->hasSchema() && hasOut(other->schema()) &&
        takesTheSame(op.schema(), other->schema())) {
      return &each;
    }
  }
  return nullptr;
}

}  // namespace highwater::probe
