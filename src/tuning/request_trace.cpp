#include "tuning/request_trace.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/mps_heaps.h"

namespace highwater::tuning {
namespace {

using analysis::LiveStore;
using events::OpSpan;
using events::StepRecord;

constexpr std::size_t kMostSteps = 4;
/// Blocks of this size are also allocated and freed outside of ops, by the device's own jobs.
constexpr std::uint64_t kTooSmallToFollow = 64 * 1024;

std::int64_t endOf(const OpSpan& op) {
  return op.begin_ns() + op.duration_ns();
}

/// The steps that have ops.
std::unordered_set<std::uint32_t> stepsWithOps(const LiveStore& store) {
  std::unordered_set<std::uint32_t> steps;
  std::optional<std::uint32_t> last;
  for (const OpSpan& op : store.ops().records) {
    if (op.current_bytes() < 0 || last == op.step()) continue;
    last = op.step();
    steps.insert(*last);
  }
  return steps;
}

/// The ops of some steps in order of their ends, without those outside of it, as of an evaluation.
std::unordered_map<std::uint32_t, std::vector<const OpSpan*>> opsOf(
    const LiveStore& store, const std::unordered_set<std::uint32_t>& steps) {
  std::unordered_map<std::uint32_t, std::vector<const OpSpan*>> ops;
  for (const std::uint32_t step : steps) ops[step];
  std::vector<const OpSpan*>* list = nullptr;
  std::optional<std::uint32_t> last;
  for (const OpSpan& op : store.ops().records) {
    if (last != op.step()) {
      last = op.step();
      const auto found = ops.find(*last);
      list = found == ops.end() ? nullptr : &found->second;
    }
    if (list && op.current_bytes() >= 0) list->push_back(&op);
  }
  for (auto& [step, each] : ops) {
    std::stable_sort(each.begin(), each.end(),
                     [](const OpSpan* a, const OpSpan* b) { return endOf(*a) < endOf(*b); });
  }
  return ops;
}

/// A tensor in the text of an op's shapes.
struct Shape {
  std::vector<std::uint64_t> sizes;
  std::uint64_t element = 0;  ///< bytes

  std::uint64_t bytes(std::uint64_t values) const {
    const std::uint64_t all = product(values, element);
    return (all + HeapRules::kAlignment - 1) / HeapRules::kAlignment * HeapRules::kAlignment;
  }
  std::uint64_t values() const {
    std::uint64_t all = 1;
    for (const std::uint64_t size : sizes) all = product(all, size);
    return all;
  }
};

/// Parses "[16, 64, 128] float32, [128] float32"; stops where the text has another form.
std::vector<Shape> shapesOf(std::string_view text) {
  std::vector<Shape> shapes;
  while (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) break;
    Shape shape;
    std::string_view sizes = text.substr(1, close - 1);
    while (!sizes.empty()) {
      std::uint64_t size = 0;
      const auto [end, error] = std::from_chars(sizes.data(), sizes.data() + sizes.size(), size);
      if (error != std::errc()) return shapes;
      shape.sizes.push_back(size);
      sizes.remove_prefix(static_cast<std::size_t>(end - sizes.data()));
      while (sizes.starts_with(',') || sizes.starts_with(' ')) sizes.remove_prefix(1);
    }
    text.remove_prefix(close + 1);
    if (text.starts_with(' ')) text.remove_prefix(1);
    const std::string_view dtype = text.substr(0, text.find(','));
    shape.element = bytesOfDtype(dtype);
    shapes.push_back(std::move(shape));
    text.remove_prefix(std::min(text.size(), dtype.size()));
    while (text.starts_with(',') || text.starts_with(' ')) text.remove_prefix(1);
  }
  return shapes;
}

/// The outputs of an op that allocates them itself, in bytes, the largest first; empty where they
/// are not known.
std::vector<std::uint64_t> outputsOf(const std::string& op, const std::string& text) {
  const std::vector<Shape> shapes = shapesOf(text);
  if (shapes.empty() || shapes[0].sizes.empty()) return {};
  const Shape& input = shapes[0];
  const std::uint64_t all = input.bytes(input.values());
  if (op == "aten::native_layer_norm" && shapes.size() > 1) {
    const std::uint64_t rows = input.values() / std::max<std::uint64_t>(1, shapes[1].values());
    return {all, input.bytes(rows), input.bytes(rows)};
  }
  if (op == "aten::native_layer_norm_backward" && shapes.size() > 4) {
    const std::uint64_t weight = shapes[4].bytes(shapes[4].values());
    return {all, weight, weight};
  }
  if ((op == "aten::native_batch_norm" || op == "aten::native_batch_norm_backward") &&
      input.sizes.size() > 1) {
    const std::uint64_t channels = input.bytes(input.sizes[1]);
    return {all, channels, channels};
  }
  if (op.starts_with("aten::convolution_backward") && shapes.size() > 2 && input.sizes.size() > 1) {
    return {shapes[1].bytes(shapes[1].values()), shapes[2].bytes(shapes[2].values()),
            input.bytes(input.sizes[1])};
  }
  for (const char* each : {"aten::relu", "aten::sigmoid", "aten::tanh", "aten::gelu"}) {
    if (op == each) return {all};
  }
  return {};
}

/// Follows current allocated through the ops of consecutive steps.
class Follower {
 public:
  explicit Follower(const LiveStore& store) : store_(store) {}

  std::vector<TracedRequest> step(const std::vector<const OpSpan*>& ops, const StepRecord& record,
                                  std::uint64_t& base) {
    std::vector<TracedRequest> requests;
    const std::int64_t end = record.begin_ns() + record.duration_ns();
    std::size_t unknown = 0;  // requests from here on wait for an op that has their result
    for (const OpSpan* op : ops) {
      if (op->begin_ns() < record.begin_ns() || endOf(*op) > end) continue;
      noteArguments(*op);
      if (unknown < requests.size()) {
        setRequested(*op, requests.back());
        unknown = requests.size();
      }
      const auto now = static_cast<std::uint64_t>(op->current_bytes());
      // An op with others inside grew by what they allocated, which has been seen.
      const bool isLeaf = op->begin_ns() >= lastEndNs_;
      lastEndNs_ = endOf(*op);
      const std::uint64_t grown = isLeaf ? std::min(op->grown_bytes(), now) : 0;
      const std::uint64_t before = now - grown;
      if (!started_) {
        base = current_ = before;
        started_ = true;
      }
      if (before < current_) freed_ += current_ - before;
      if (before > current_ + kTooSmallToFollow) add(requests, *op, 0, before - current_);
      if (grown > 0) {
        const bool isEmpty = store_.name(op->op()).starts_with("aten::empty");
        addOutputs(requests, *op, grown);
        if (!isEmpty) unknown = requests.size();
      }
      current_ = now;
    }
    return requests;
  }

 private:
  void add(std::vector<TracedRequest>& requests, const OpSpan& op, std::uint64_t hash,
           std::uint64_t bytes) {
    requests.push_back({hash, bytes, bytes, freed_, op.phase(), std::move(arguments_)});
    freed_ = 0;
    arguments_.clear();
  }
  void noteArguments(const OpSpan& op) {
    auto [place, isNew] = shapes_.try_emplace(op.shapes());
    if (isNew) {
      for (const Shape& shape : shapesOf(store_.name(op.shapes()))) {
        place->second.push_back(shape.bytes(shape.values()));
      }
    }
    for (const std::uint64_t bytes : place->second) {
      if (std::find(arguments_.begin(), arguments_.end(), bytes) == arguments_.end()) {
        arguments_.push_back(bytes);
      }
    }
  }
  /// What the request asked for, by the op that got the empty tensor: its first argument if it
  /// changes that in place, else its last, which is its result.
  void setRequested(const OpSpan& op, TracedRequest& request) const {
    const std::vector<Shape> shapes = shapesOf(store_.name(op.shapes()));
    if (shapes.empty()) return;
    const std::string name = store_.name(op.op());
    const Shape& result = name.ends_with('_') ? shapes.front() : shapes.back();
    const std::uint64_t bytes = result.bytes(result.values());
    if (bytes > 0 && bytes < request.bytes &&
        request.bytes <= sum(bytes, HeapRules::kMaxReuseSlack)) {
      request.requested = bytes;
    }
  }
  /// Splits what an op allocated into the blocks of its outputs.
  void addOutputs(std::vector<TracedRequest>& requests, const OpSpan& op, std::uint64_t grown) {
    const std::uint64_t hash = hashOf(op);
    std::vector<std::uint64_t> outputs = outputsOf(store_.name(op.op()), store_.name(op.shapes()));
    std::uint64_t known = 0;
    for (const std::uint64_t bytes : outputs) known = sum(known, bytes);
    // The first layer needs no gradient of its input, the batch that was moved to the device.
    const bool isOfBatch =
        store_.name(op.op()).starts_with("aten::convolution_backward") && !outputs.empty() &&
        std::any_of(requests.begin(), requests.end(), [&](const TracedRequest& each) {
          return each.phase == events::Phase::DeviceMove && each.requested == outputs.front();
        });
    if (isOfBatch || (outputs.size() > 1 && known > grown)) {
      known -= outputs.front();
      outputs.erase(outputs.begin());
    }
    if (outputs.empty() || known > grown) {
      add(requests, op, hash, grown);
      return;
    }
    // What is more than that, reuse has added: to a small block at most 1 MiB.
    const std::uint64_t excess = grown - known;
    const std::size_t larger = excess < HeapRules::kMaxSmall ? outputs.size() - 1 : 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      add(requests, op, hash, outputs[i] + (i == larger ? excess : 0));
      requests.back().requested = outputs[i];
    }
  }
  std::uint64_t hashOf(const OpSpan& op) {
    auto [place, isNew] = hashes_.try_emplace(op.op(), 0);
    if (isNew) place->second = std::hash<std::string>()(store_.name(op.op())) | 1U;
    return place->second + static_cast<std::uint64_t>(op.phase());
  }

  const LiveStore& store_;
  std::unordered_map<NameId, std::uint64_t> hashes_;
  std::unordered_map<NameId, std::vector<std::uint64_t>> shapes_;
  std::vector<std::uint64_t> arguments_;
  bool started_ = false;
  std::int64_t lastEndNs_ = 0;
  std::uint64_t current_ = 0, freed_ = 0;
};

}  // namespace

std::vector<StepTrace> tracesOf(const LiveStore& store) {
  if (store.ops().empty()) return {};
  const std::unordered_set<std::uint32_t> traced = stepsWithOps(store);
  const auto& records = store.steps().records;
  const auto isTraced = [&](std::size_t row) {
    return records[row].batch_size() > 0 && traced.contains(records[row].step()) &&
           records[row].begin_ns() >= store.ops().forgottenUpToNs;
  };
  // First the rows, so that of millions of ops only those of a few steps are sorted.
  struct Rows {
    std::size_t first = 0, last = 0;
    bool fromBegin = false;
  };
  std::vector<Rows> chosen;
  std::set<std::pair<std::uint32_t, std::uint32_t>> settings;
  std::unordered_set<std::uint32_t> wanted;
  for (std::size_t first = 0; first < records.size();) {
    std::size_t end = first;
    const Setting setting = settingOf(records[first]);
    while (end < records.size() && isTraced(end) && settingOf(records[end]) == setting) ++end;
    // The first step after a change has the past of another setting.
    const std::size_t from = first == 0 ? first : first + 1;
    if (end >= from + 2 && settings.emplace(setting.batch, setting.length).second) {
      const std::size_t last = std::min(end, from + kMostSteps);
      chosen.push_back({from, last, first == 0 && records[0].step() == 1});
      for (std::size_t row = from; row < last; ++row) wanted.insert(records[row].step());
    }
    first = std::max(end, first + 1);
  }
  const auto ops = opsOf(store, wanted);
  std::vector<StepTrace> traces;
  for (const Rows& rows : chosen) {
    StepTrace trace{settingOf(records[rows.first]), rows.fromBegin, 0, {}};
    Follower follower(store);
    for (std::size_t row = rows.first; row < rows.last; ++row) {
      trace.steps.push_back(
          follower.step(ops.at(records[row].step()), records[row], trace.baseBytes));
    }
    traces.push_back(std::move(trace));
  }
  return traces;
}

}  // namespace highwater::tuning
