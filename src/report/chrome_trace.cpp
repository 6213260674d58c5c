#include "report/chrome_trace.h"

#include <cmath>
#include <utility>
#include <variant>

#include "core/names.h"
#include "core/plain_text.h"
#include "core/version.h"
#include "report/report_values.h"

namespace highwater::report {
namespace {

/// A text without control characters as a JSON string.
std::string quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + '"';
}

std::string json(std::string_view text) {
  return quoted(plainText(text));
}

/// Of one letter each: see "Trace Event Format".
char phaseOf(TraceEvent::Kind kind) {
  switch (kind) {
    case TraceEvent::Kind::kSpan:
      return 'X';
    case TraceEvent::Kind::kInstant:
      return 'i';
    case TraceEvent::Kind::kCounter:
      return 'C';
  }
  return 'X';
}

}  // namespace

ChromeTrace::ChromeTrace(Write write) : write_(std::move(write)) {
  out_ = "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
}

void ChromeTrace::thread(const TraceRun& run, ThreadId thread, const TraceText& name) {
  writeMetadata(run, "thread_name", thread, "name", name.text);
}

void ChromeTrace::event(const TraceRun& run, const TraceEvent& event) {
  begin(run, phaseOf(event.kind), event.category, event.thread, event.beginNs);
  out_ += ",\"name\":";
  text(event.name);
  if (!event.unit.empty()) {
    out_.back() = ',';
    out_ += ' ';
    out_ += event.unit;
    out_ += '"';
  }
  if (event.kind == TraceEvent::Kind::kSpan) {
    out_ += ",\"dur\":";
    time(event.durationNs);
  } else if (event.kind == TraceEvent::Kind::kInstant) {
    out_ += event.lane == TraceLane::kMarkers ? ",\"s\":\"p\"" : ",\"s\":\"t\"";
  }
  if (!event.arguments.empty()) {
    out_ += ",\"args\":{";
    for (const TraceArgument& each : event.arguments) {
      argument(each);
    }
    out_.back() = '}';
  }
  out_ += '}';
  flush(kTracePiece);
}

void ChromeTrace::finish(const TraceRun& run) {
  const std::string device(deviceLabel(run.hello.device));
  writeMetadata(run, "process_name", 0, "name", run.program.empty() ? "highwater" : run.program);
  writeMetadata(run, "process_labels", 0, "labels", device);
  out_ += "\n],\"baseTimeNanoseconds\":";
  appendNumber(out_, run.epochNs);
  out_ += ",\"deviceProperties\":[],\"highwater\":{\"version\":" + json(kVersion) +
          ",\"device\":" + json(device) +
          ",\"simulated\":" + (run.hello.device.simulated ? "true" : "false") +
          ",\"torch\":" + json(run.hello.torchVersion) +
          ",\"platform\":" + json(run.hello.platform) + ",\"dropped\":";
  appendNumber(out_, run.dropped);
  out_ += "}}\n";
  flush(0);
}

void ChromeTrace::begin(const TraceRun& run, char phase, std::string_view category, ThreadId thread,
                        std::int64_t ns) {
  out_ += isFirst_ ? "{\"ph\":\"" : ",\n{\"ph\":\"";
  isFirst_ = false;
  out_ += phase;
  out_ += "\",\"cat\":\"";
  out_ += category;
  out_ += "\",\"pid\":";
  appendNumber(out_, run.hello.processId);
  out_ += ",\"tid\":";
  appendNumber(out_, thread);
  out_ += ",\"ts\":";
  time(ns);
}

void ChromeTrace::writeMetadata(const TraceRun& run, std::string_view name, ThreadId thread,
                                std::string_view key, std::string_view value) {
  begin(run, 'M', "__metadata", thread, run.hello.clock.unixEpochNs - run.epochNs);
  out_ += ",\"name\":" + quoted(name) + ",\"args\":{" + quoted(key) + ':' + json(value) + "}}";
}

void ChromeTrace::argument(const TraceArgument& argument) {
  out_ += '"';
  out_ += argument.key;
  out_ += "\":";
  if (const auto* known = std::get_if<TraceText>(&argument.value)) {
    text(*known);
  } else if (const auto* number = std::get_if<double>(&argument.value)) {
    if (std::isfinite(*number)) {
      appendNumber(out_, *number);
    } else {
      out_ += "null";
    }
  } else {
    appendNumber(out_, std::get<std::uint64_t>(argument.value));
  }
  out_ += ',';
}

/// Microseconds, with three decimals.
void ChromeTrace::time(std::int64_t ns) {
  if (ns < 0) {
    out_ += '-';
    ns = -ns;
  }
  appendNumber(out_, ns / 1000);
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

void ChromeTrace::text(const TraceText& text) {
  if (text.id == 0) {
    out_ += quoted(text.text);
    return;
  }
  if (texts_.size() <= text.id) texts_.resize(text.id + std::size_t{1});
  std::string& known = texts_[text.id];
  if (known.empty()) known = quoted(text.text);
  out_ += known;
}

}  // namespace highwater::report
