#include "bench/findings.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <thread>
#include <utility>

namespace highwater::bench {
namespace {

std::string number(double value, int digits = 4) {
  if (!std::isfinite(value)) return "null";
  std::ostringstream out;
  out << std::setprecision(digits) << value;
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

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

double load() {
  double average = 0;
  return ::getloadavg(&average, 1) == 1 ? average : std::nan("");
}

std::string verdictOf(const Finding& row) {
  if (!row.goal) return "reported";
  if (row.exact) return nameOf(row.estimate.median <= *row.goal ? Verdict::Met : Verdict::Missed);
  return nameOf(judge(row.estimate, *row.goal));
}

std::string padded(const std::string& text, std::size_t width) {
  // Width in characters: "×" has two bytes and one column.
  std::size_t columns = 0;
  for (const char c : text) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return text + std::string(columns < width ? width - columns : 1, ' ');
}

}  // namespace

Finding exact(std::string name, std::string setting, std::string unit, double value,
              std::optional<double> goal) {
  return {
      std::move(name), std::move(setting), std::move(unit), {value, value, value, 1}, goal, true};
}

Finding quantile(std::string name, std::string setting, std::string unit,
                 std::vector<double> values, double share, std::optional<double> goal) {
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank),
                   values.end());
  Finding row = exact(std::move(name), std::move(setting), std::move(unit), values[rank], goal);
  row.estimate.samples = values.size();
  return row;
}

std::string asTable(const Findings& findings) {
  std::ostringstream out;
  out << findings.bench << ", beside " << findings.peer << "\n"
      << padded("what", 28) << padded("setting", 30) << padded("median", 12)
      << padded("95 % interval", 22) << padded("n", 6) << padded("goal", 10) << "\n";
  for (const Finding& row : findings.rows) {
    const std::string interval =
        row.exact ? "" : number(row.estimate.low) + " to " + number(row.estimate.high);
    out << padded(row.name, 28) << padded(row.setting, 30)
        << padded(number(row.estimate.median) + " " + row.unit, 12) << padded(interval, 22)
        << padded(std::to_string(row.estimate.samples), 6)
        << padded(row.goal ? "≤ " + number(*row.goal) : "", 10) << verdictOf(row) << "\n";
  }
  return out.str();
}

std::string asJson(const Findings& findings) {
  std::ostringstream out;
  out << "{\n  \"schema\": 1,\n  \"bench\": " << quoted(findings.bench)
      << ",\n  \"command\": " << quoted(findings.command)
      << ",\n  \"peer\": " << quoted(findings.peer) << ",\n  \"processor\": " << quoted(processor())
      << ",\n  \"cores\": " << std::thread::hardware_concurrency()
      << ",\n  \"load_average\": " << number(load()) << ",\n  \"rows\": [";
  const char* separator = "\n";
  for (const Finding& row : findings.rows) {
    out << separator << "    {\"name\": " << quoted(row.name)
        << ", \"setting\": " << quoted(row.setting) << ", \"unit\": " << quoted(row.unit)
        << ", \"median\": " << number(row.estimate.median, 6)
        << ", \"low\": " << number(row.estimate.low, 6)
        << ", \"high\": " << number(row.estimate.high, 6)
        << ", \"samples\": " << row.estimate.samples
        << ", \"goal\": " << (row.goal ? number(*row.goal) : "null")
        << ", \"verdict\": " << quoted(verdictOf(row)) << "}";
    separator = ",\n";
  }
  out << "\n  ]\n}\n";
  return out.str();
}

bool publish(const Findings& findings, const std::string& jsonFile) {
  std::fputs(asTable(findings).c_str(), stdout);
  std::ofstream file(jsonFile);
  file << asJson(findings) << std::flush;
  if (file) {
    std::printf("written: %s\n", jsonFile.c_str());
    return true;
  }
  std::fprintf(stderr, "bench: cannot write %s\n", jsonFile.c_str());
  return false;
}

}  // namespace highwater::bench
