#include "worker/checks/benchmark/benchmark.h"

#include <ATen/Parallel.h>
#include <ATen/detail/MPSHooksInterface.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/knobs.h"
#include "core/version.h"
#include "process/platform.h"
#include "process/running_torch.h"
#include "worker/checks/benchmark/drift.h"
#include "worker/checks/benchmark/timing.h"
#include "worker/checks/benchmark/training_step.h"
#include "worker/training/training_errors.h"

namespace highwater::worker {

using Json = nlohmann::ordered_json;

namespace {

/// Thrown where a line could not be printed.
struct NobodyReads {};

void synchronize() {
  at::detail::getMPSHooks().deviceSynchronize();
}

Json sideJson(const TimedSide& side) {
  Json measurements = Json::array();
  for (const Measurement& each : side.measurements) {
    measurements.push_back({{"submitted_ms", each.submittedMs}, {"done_ms", each.doneMs}});
  }
  return {{"first_ms", side.firstMs},
          {"warm_up_calls", side.warmUpCalls},
          {"measurements", std::move(measurements)}};
}

class Benchmark {
 public:
  Benchmark(const TrainingSetup& setup, const LinePrinter& print)
      : setup_(setup),
        options_(*setup.options->benchmark),
        print_(print),
        cpuPrecision_(setup.sizes.knobs.precision) {
    const bool asCpu = options_.mpsPrecision == Precision::kUnknown;
    mpsPrecision_ = asCpu ? cpuPrecision_ : options_.mpsPrecision;
    if (options_.matmul) parts_ += options_.shapes.size() * options_.dtypes.size();
    parts_ += std::size_t{options_.step} + std::size_t{options_.drift};
  }

  void run() {
    printStart();
    if (options_.matmul) {
      for (const Precision dtype : options_.dtypes) {
        for (const MatmulShape& shape : options_.shapes) {
          timeMatmul(shape, dtype);
        }
      }
    }
    if (options_.step) timeStep();
    if (options_.drift) {
      const std::string name = "numeric drift";
      part(name, {{"what", "drift"}}, [&] {
        Json result = measureDrift(setup_, cpuPrecision_, mpsPrecision_, [&](std::uint32_t done) {
          progress(name, done, 3 * kDriftBatches);
        });
        result["kind"] = "drift";
        print(result);
      });
    }
    print({{"kind", "end"}});
  }

 private:
  void print(const Json& json) {
    if (!print_(json)) throw NobodyReads{};
  }

  void printStart() {
    print({{"kind", "start"},
           {"schema", 1},
           {"highwater", kVersion},
           {"torch", process::torchVersion()},
           {"platform", process::platformName()},
           {"device", setup_.device.selected},
           {"simulated", setup_.device.simulated},
           {"device_reason", setup_.device.reason},
           {"cpu_threads", at::get_num_threads()},
           {"blas", process::torchBlas()},
           {"workload",
            {{"name", kBuiltInWorkload},
             {"scenario", setup_.options->scenario},
             {"preset", setup_.sizes.model.preset},
             {"width", setup_.sizes.model.width},
             {"layers", setup_.sizes.model.layers},
             {"heads", setup_.sizes.model.heads},
             {"batch", setup_.sizes.knobs.batchSize},
             {"seq", setup_.sizes.knobs.sequenceLength},
             {"accumulation", setup_.sizes.knobs.accumulation},
             {"cpu_precision", precisionName(cpuPrecision_)},
             {"mps_precision", precisionName(mpsPrecision_)}}}});
  }

  void progress(const std::string& doing, std::uint32_t done, std::uint32_t all) {
    const double share = all == 0 ? 0 : static_cast<double>(done) / all;
    print({{"kind", "progress"},
           {"doing", doing},
           {"done", (static_cast<double>(partsDone_) + share) / static_cast<double>(parts_)}});
  }

  /// Measures a part. Where PyTorch refuses it, as with memory that is used up, the others are
  /// measured nevertheless.
  template <typename Measure>
  void part(const std::string& name, const Json& what, const Measure& measure) {
    try {
      measure();
    } catch (const std::exception& error) {
      Json refused = {{"kind", "refused"}, {"name", name}, {"why", firstLine(error)}};
      refused.update(what);
      print(refused);
    }
    ++partsDone_;
  }

  void time(const std::string& name, const Json& what, std::uint32_t calls, const TimedProgram& cpu,
            const TimedProgram& mps) {
    const Timing timing =
        timePrograms(cpu, mps, {calls, options_.rounds, options_.allRounds},
                     [&](std::uint32_t done, std::uint32_t all) { progress(name, done, all); });
    Json json = {{"kind", "timing"}, {"name", name}, {"calls", calls}};
    json.update(what);
    json["cpu"] = sideJson(timing.a);
    json["mps"] = sideJson(timing.b);
    print(json);
  }

  void timeMatmul(const MatmulShape& shape, Precision dtype) {
    const std::string type(precisionName(dtype));
    const std::string name = "matmul " + matmulText(shape) + ' ' + type;
    const Json what = {
        {"what", "matmul"}, {"m", shape.m}, {"k", shape.k}, {"n", shape.n}, {"dtype", type}};
    part(name, what, [&] {
      const torch::NoGradGuard noGrad;
      torch::manual_seed(*setup_.options->seed);
      // Drawn in float32: the CPU has no random numbers of every type.
      const at::Tensor a = torch::rand({shape.m, shape.k}).to(scalarType(dtype));
      const at::Tensor b = torch::rand({shape.k, shape.n}).to(scalarType(dtype));
      const at::Tensor c = a.to("mps:0"), d = b.to("mps:0");
      time(name, what, options_.calls, {[&] { (void)at::mm(a, b); }, [] {}},
           {[&] { (void)at::mm(c, d); }, synchronize});
    });
  }

  void timeStep() {
    const std::string name = "training step";
    const Json what = {{"what", "step"},
                       {"cpu_precision", precisionName(cpuPrecision_)},
                       {"mps_precision", precisionName(mpsPrecision_)}};
    part(name, what, [&] {
      progress(name, 0, 1);
      TrainingStep cpu(setup_, "cpu", cpuPrecision_);
      TrainingStep mps(setup_, "mps", mpsPrecision_);
      time(name, what, options_.steps, {[&] { cpu.train(); }, [] {}},
           {[&] { mps.train(); }, synchronize});
    });
  }

  const TrainingSetup& setup_;
  const BenchmarkOptions& options_;
  const LinePrinter& print_;
  Precision cpuPrecision_, mpsPrecision_ = Precision::kFloat32;
  std::size_t parts_ = 0, partsDone_ = 0;
};

}  // namespace

Result<void> benchmark(const TrainingSetup& setup, const LinePrinter& print) {
  try {
    Benchmark(setup, print).run();
  } catch (const NobodyReads&) {
    return Error{ErrorCode::kEnded, "nobody reads the results"};
  }
  return {};
}

}  // namespace highwater::worker
