#include "bench/harness.h"

#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace highwater::bench {
namespace {

std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  std::ostringstream out;
  out << std::setprecision(6) << value;
  return out.str();
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string orNull(const std::string& text) {
  return text.empty() ? "null" : quoted(text);
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return {};
}

double load() {
  double average = 0;
  return ::getloadavg(&average, 1) == 1 ? average : std::nan("");
}

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::ostringstream out;
  out << std::put_time(&utc, "%Y-%m-%dT%H:%M:%SZ");
  return out.str();
}

std::string verdictOf(const Row& row) {
  if (!row.goal) return {};
  if (row.exact) return nameOf(row.estimate.median <= *row.goal ? Verdict::Met : Verdict::Missed);
  return nameOf(judge(row.estimate, *row.goal));
}

Report beginReport(const Bench& bench) {
  const char* commit = std::getenv("HIGHWATER_BENCH_COMMIT");  // tests/bench/run sets it
  return {.bench = bench.name,
          .peer = bench.peer,
          .date = now(),
          .commit = commit ? commit : "",
          .processor = processor(),
          .cores = std::thread::hardware_concurrency(),
          .load = load()};
}

void publish(const Report& report, const std::string& file) {
  if (file.empty()) {
    std::fputs(asJson(report).c_str(), stdout);
    return;
  }
  std::ofstream out(file);
  out << asJson(report) << std::flush;
  if (!out) throw std::runtime_error("cannot write " + file);
}

}  // namespace

Row exact(std::string name, std::string setting, std::string unit, double value,
          std::optional<double> goal) {
  return {
      std::move(name), std::move(setting), std::move(unit), {value, value, value, 1}, goal, true};
}

Row quantile(std::string name, std::string setting, std::string unit, std::vector<double> values,
             double share) {
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank),
                   values.end());
  Row row = exact(std::move(name), std::move(setting), std::move(unit), values[rank]);
  row.estimate.samples = values.size();
  return row;
}

std::vector<Goal> applyGoals(std::vector<Row>& rows, const std::vector<Goal>& goals) {
  for (Row& row : rows) {
    const auto found = std::find_if(goals.begin(), goals.end(), [&row](const Goal& goal) {
      return goal.row == row.name && row.setting.find(goal.in) != std::string::npos;
    });
    if (found != goals.end() && !row.goal) row.goal = found->atMost;
  }
  std::vector<Goal> unused;
  std::copy_if(goals.begin(), goals.end(), std::back_inserter(unused), [&rows](const Goal& goal) {
    return std::none_of(rows.begin(), rows.end(),
                        [&goal](const Row& row) { return row.name == goal.row; });
  });
  return unused;
}

std::string asJson(const Report& report) {
  std::ostringstream out;
  out << "{\n  \"schema\": 2,\n  \"bench\": " << quoted(report.bench)
      << ",\n  \"peer\": " << quoted(report.peer) << ",\n  \"date\": " << orNull(report.date)
      << ",\n  \"commit\": " << orNull(report.commit)
      << ",\n  \"machine\": {\"processor\": " << orNull(report.processor)
      << ", \"cores\": " << report.cores << ", \"load\": " << number(report.load)
      << "},\n  \"rows\": [";
  const char* separator = "\n";
  for (const Row& row : report.rows) {
    out << separator << "    {\"name\": " << quoted(row.name)
        << ", \"setting\": " << quoted(row.setting) << ", \"unit\": " << quoted(row.unit)
        << ", \"value\": " << number(row.estimate.median)
        << ", \"low\": " << (row.exact ? "null" : number(row.estimate.low))
        << ", \"high\": " << (row.exact ? "null" : number(row.estimate.high))
        << ", \"samples\": " << row.estimate.samples
        << ", \"goal\": " << (row.goal ? number(*row.goal) : "null")
        << ", \"verdict\": " << orNull(verdictOf(row)) << "}";
    separator = ",\n";
  }
  out << "\n  ]\n}\n";
  return out.str();
}

Harness::Harness(Bench bench)
    : bench_(std::move(bench)),
      options_(std::make_unique<CLI::App>(bench_.about)),
      rounds_(bench_.rounds) {
  options_->add_option("--json", json_, "File for the figures; without it they go to stdout");
  if (bench_.rounds > 0) {
    options_->add_option("--rounds", rounds_, "Repetitions")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
  }
}

Harness::~Harness() = default;

int Harness::run(int argc, char** argv, const std::function<void(Report&)>& measure) {
  CLI11_PARSE(*options_, argc, argv);
  try {
    Report report = beginReport(bench_);
    measure(report);
    if (report.rows.empty()) throw std::runtime_error("nothing was measured");
    for (const Goal& goal : applyGoals(report.rows, bench_.goals)) {
      std::fprintf(stderr, "%s: no row for the goal %s, at most %s\n", bench_.name.c_str(),
                   goal.row.c_str(), number(goal.atMost).c_str());
    }
    publish(report, json_);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", bench_.name.c_str(), error.what());
    return 1;
  }
}

}  // namespace highwater::bench
