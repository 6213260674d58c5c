#include "report/chrome_trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <variant>

#include "core/names.h"
#include "core/plain_text.h"
#include "core/version.h"
#include "report/report_values.h"

namespace highwater::report {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  ///< bytes that are written at once
constexpr std::int64_t kBaseEveryS = 7'889'238;
constexpr std::int64_t kNsInS = 1'000'000'000;

void append(std::string& to, std::int64_t value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  to.append(digits, end);
}

/// A text as a JSON string. Invalid UTF-8 and control characters, of a hostile recording, become
/// U+FFFD.
std::string json(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : plainText(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

/// A span that only ends where the range begins does not touch it; an event without a duration
/// does.
bool touches(const analysis::TimeRange& range, std::int64_t beginNs, std::int64_t endNs) {
  return beginNs < range.endNs && (endNs > range.beginNs || beginNs >= range.beginNs);
}

}  // namespace

ChromeTrace::ChromeTrace(Write write, std::optional<analysis::TimeRange> range)
    : write_(std::move(write)), range_(range) {
  out_ = "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
}

void ChromeTrace::take(std::span<const std::uint8_t>, const Message& message) {
  if (const auto* hello = std::get_if<Hello>(&message)) {
    hello_ = *hello;
    const std::int64_t startNs = hello->clock.unixEpochNs;
    baseNs_ = startNs - startNs % (kBaseEveryS * kNsInS);
  } else if (const auto* run = std::get_if<RunDescription>(&message)) {
    program_ = run->workload;
  } else if (const auto* defined = std::get_if<Definitions>(&message)) {
    definitions_.add(*defined);
    for (const ThreadDefinition& thread : defined->threads) {
      writeMetadata("thread_name", thread.id, thread.name);
      if (thread.name == "training") training_ = thread.id;
    }
  } else if (const auto* batch = std::get_if<EventBatch>(&message)) {
    takeBatch(*batch);
  } else if (const auto* note = std::get_if<Note>(&message)) {
    begin('i', "note", json(note->text), training_, note->timeNs);
    out_ += ",\"s\":\"p\"";
    end();
  }
  flush(kPiece);
}

void ChromeTrace::finish() {
  const std::string device(deviceLabel(hello_.device));
  writeMetadata("process_name", 0, program_.empty() ? "highwater" : program_);
  writeMetadata("process_labels", 0, device);
  out_ += "\n],\"baseTimeNanoseconds\":";
  append(out_, baseNs_);
  out_ += ",\"deviceProperties\":[],\"highwater\":{\"version\":" + json(kVersion) +
          ",\"device\":" + json(device) +
          ",\"simulated\":" + (hello_.device.simulated ? "true" : "false") +
          ",\"torch\":" + json(hello_.torchVersion) + ",\"platform\":" + json(hello_.platform) +
          ",\"dropped\":";
  append(out_, static_cast<std::int64_t>(dropped_));
  out_ += "}}\n";
  flush(0);
}

void ChromeTrace::takeBatch(const EventBatch& batch) {
  for (const events::DropRecord& drop : batch.drops) {
    dropped_ += drop.count();
  }
  writeAll(batch.steps);
  writeAll(batch.phases);
  writeAll(batch.namedSpans);
  writeAll(batch.ops);
  writeAll(batch.syncPoints);
  writeAll(batch.fallbacks);
  writeAll(batch.markers);
  writeAll(batch.evaluations);
  writeAll(batch.hostSamples);
  writeAll(batch.memorySamples);
  writeAll(batch.systemSamples);
  writeAll(batch.machineSamples);
}

template <typename Event>
void ChromeTrace::writeAll(std::span<const Event> events) {
  for (const Event& event : events) {
    if (range_ && !touches(*range_, beginNsOf(event), endNsOf(event))) continue;
    write(event);
    flush(kPiece);
    ++written_;
  }
}

void ChromeTrace::write(const events::StepRecord& step) {
  beginSpan("user_annotation", "\"ProfilerStep#" + std::to_string(step.step()) + '"', training_,
            step.begin_ns(), step.duration_ns());
  argument("batch_size", std::uint64_t{step.batch_size()});
  argument("sequence_length", std::uint64_t{step.sequence_length()});
  argument("tokens", std::uint64_t{step.tokens()});
  if (step.loss_read() != 0) argument("loss", static_cast<double>(step.loss()));
  argument("peak_current_bytes", step.peak_current_bytes());
  argument("peak_driver_bytes", step.peak_driver_bytes());
  end();
}

void ChromeTrace::write(const events::PhaseSpan& phase) {
  beginSpan("phase", json(phaseName(phase.phase())), phase.thread(), phase.begin_ns(),
            phase.duration_ns());
  argument("step", std::uint64_t{phase.step()});
  end();
}

void ChromeTrace::write(const events::NamedSpan& span) {
  beginSpan("user_annotation", nameJson(span.name()), span.thread(), span.begin_ns(),
            span.duration_ns());
  argument("step", std::uint64_t{span.step()});
  end();
}

void ChromeTrace::write(const events::OpSpan& op) {
  beginSpan("cpu_op", nameJson(op.op()), op.thread(), op.begin_ns(), op.duration_ns());
  argument("step", std::uint64_t{op.step()});
  if (op.shapes() != kNoId) argument("shapes", nameJson(op.shapes()));
  argumentsOfPlace(op.module_id(), kNoId);
  if (op.phase() != events::Phase::None) argument("phase", json(phaseName(op.phase())));
  if (op.grown_bytes() > 0) argument("grown_bytes", op.grown_bytes());
  end();
}

void ChromeTrace::write(const events::SyncPoint& sync) {
  beginSpan("wait", json("wait: " + std::string(syncKindName(sync.kind()))), sync.thread(),
            sync.begin_ns(), sync.duration_ns());
  argument("step", std::uint64_t{sync.step()});
  argument("op", nameJson(sync.op()));
  argument("bytes", sync.bytes());
  argumentsOfPlace(sync.module_id(), sync.call_site());
  end();
}

void ChromeTrace::write(const events::FallbackEvent& fallback) {
  beginSpan("fallback", json("on the CPU: " + definitions_.name(fallback.op())), fallback.thread(),
            fallback.begin_ns(), fallback.duration_ns());
  argument("step", std::uint64_t{fallback.step()});
  argument("wait_ms", static_cast<double>(fallback.wait_ns()) / 1e6);
  argument("bytes_to_cpu", fallback.bytes_to_cpu());
  argument("bytes_to_device", fallback.bytes_to_device());
  argumentsOfPlace(fallback.module_id(), fallback.call_site());
  end();
}

void ChromeTrace::write(const events::Marker& marker) {
  begin('i', "marker", json(definitions_.markerText(marker)), training_, marker.time_ns());
  out_ += ",\"s\":\"p\"";
  beginArguments();
  argument("step", std::uint64_t{marker.step()});
  argument("kind", json(markerKindKey(marker.kind())));
  end();
}

void ChromeTrace::write(const events::Evaluation& evaluation) {
  begin('i', "evaluation", "\"evaluation\"", training_, evaluation.time_ns());
  out_ += ",\"s\":\"t\"";
  beginArguments();
  argument("step", std::uint64_t{evaluation.step()});
  argument("samples", std::uint64_t{evaluation.samples()});
  argument("accuracy", static_cast<double>(evaluation.accuracy()));
  argument("loss", static_cast<double>(evaluation.loss()));
  end();
}

void ChromeTrace::write(const events::HostSample& sample) {
  begin('i', "host_sample", siteJson(sample.call_site()), sample.thread(), sample.time_ns());
  out_ += ",\"s\":\"t\"";
  beginArguments();
  argument("step", std::uint64_t{sample.step()});
  end();
}

void ChromeTrace::write(const events::MemorySample& sample) {
  begin('C', "memory", "\"device memory, bytes\"", training_, sample.time_ns());
  beginArguments();
  argument("current", sample.current_bytes());
  // Chrome stacks the values of a counter.
  argument("cached",
           sample.driver_bytes() - std::min(sample.current_bytes(), sample.driver_bytes()));
  end();
}

void ChromeTrace::write(const events::SystemSample& sample) {
  counter("process footprint, bytes", "footprint", sample.time_ns(),
          static_cast<double>(sample.footprint_bytes()));
  counter("swap, bytes", "used", sample.time_ns(), static_cast<double>(sample.swap_used_bytes()));
  counter("GPU, %", "busy", sample.time_ns(), static_cast<double>(sample.gpu_percent()));
}

void ChromeTrace::write(const events::MachineSample& sample) {
  counter("compressor, bytes", "occupied", sample.time_ns(),
          static_cast<double>(sample.compressor_bytes()));
  counter("GPU memory, bytes", "in use", sample.time_ns(), static_cast<double>(sample.gpu_bytes()));
}

void ChromeTrace::counter(std::string_view name, std::string_view key, std::int64_t ns,
                          double value) {
  if (!(value >= 0)) return;  // unknown
  begin('C', "system", json(name), training_, ns);
  beginArguments();
  argument(key, value);
  end();
}

void ChromeTrace::begin(char phase, std::string_view category, std::string_view name,
                        ThreadId thread, std::int64_t ns) {
  out_ += isFirst_ ? "{\"ph\":\"" : ",\n{\"ph\":\"";
  isFirst_ = false;
  hasArguments_ = false;
  out_ += phase;
  out_ += "\",\"cat\":\"";
  out_ += category;
  out_ += "\",\"name\":";
  out_ += name;
  out_ += ",\"pid\":";
  append(out_, static_cast<std::int64_t>(hello_.processId));
  out_ += ",\"tid\":";
  append(out_, thread);
  out_ += ",\"ts\":";
  time(hello_.clock.unixEpochNs - baseNs_ + ns);
}

void ChromeTrace::beginSpan(std::string_view category, std::string_view name, ThreadId thread,
                            std::int64_t ns, std::int64_t durationNs) {
  begin('X', category, name, thread, ns);
  out_ += ",\"dur\":";
  time(durationNs);
  beginArguments();
}

void ChromeTrace::beginArguments() {
  out_ += ",\"args\":{";
  hasArguments_ = true;
}

void ChromeTrace::argument(std::string_view key, std::string_view json) {
  if (out_.back() != '{') out_ += ',';
  out_ += '"';
  out_ += key;
  out_ += "\":";
  out_ += json;
}

void ChromeTrace::argument(std::string_view key, double value) {
  char digits[40];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  argument(key, std::isfinite(value) ? std::string_view(digits, end) : "null");
}

void ChromeTrace::argument(std::string_view key, std::uint64_t value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  argument(key, std::string_view(digits, end));
}

void ChromeTrace::argumentsOfPlace(ModuleId module, CallSiteId site) {
  if (module != kNoId) argument("module", moduleJson(module));
  if (site != kNoId) argument("line", siteJson(site));
}

void ChromeTrace::end() {
  out_ += hasArguments_ ? "}}" : "}";
}

void ChromeTrace::writeMetadata(std::string_view name, ThreadId thread, std::string_view value) {
  begin('M', "__metadata", json(name), thread, 0);
  beginArguments();
  argument(name == "process_labels" ? "labels" : "name", json(value));
  end();
}

/// Microseconds, with three decimals.
void ChromeTrace::time(std::int64_t ns) {
  if (ns < 0) {
    out_ += '-';
    ns = -ns;
  }
  append(out_, ns / 1000);
  const auto rest = static_cast<int>(ns % 1000);
  out_ += '.';
  out_ += static_cast<char>('0' + rest / 100);
  out_ += static_cast<char>('0' + rest / 10 % 10);
  out_ += static_cast<char>('0' + rest % 10);
}

void ChromeTrace::flush(std::size_t least) {
  if (out_.size() < least) return;
  write_(out_);
  out_.clear();
}

const std::string& ChromeTrace::nameJson(NameId id) {
  const auto [found, isNew] = names_.try_emplace(id);
  if (isNew) found->second = json(definitions_.name(id));
  return found->second;
}

const std::string& ChromeTrace::moduleJson(ModuleId id) {
  const auto [found, isNew] = modules_.try_emplace(id);
  if (isNew) found->second = json(definitions_.modulePath(id));
  return found->second;
}

const std::string& ChromeTrace::siteJson(CallSiteId id) {
  const auto [found, isNew] = sites_.try_emplace(id);
  if (isNew) found->second = json(siteText(definitions_.callSiteParts(id)));
  return found->second;
}

}  // namespace highwater::report
