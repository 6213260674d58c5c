#include "analysis/run_end_text.h"

namespace highwater::analysis {

std::string signalName(const RunEnd& end) {
  const std::string before = "signal " + std::to_string(end.signal) + " (SIG";
  const auto at = end.message.find(before);
  if (end.signal == 0 || at == std::string::npos) return {};
  const auto from = at + before.size() - 3;
  auto to = from;
  while (to < end.message.size() && end.message[to] >= 'A' && end.message[to] <= 'Z') ++to;
  return to < end.message.size() && end.message[to] == ')' ? end.message.substr(from, to - from)
                                                           : std::string();
}

std::string processExitText(const RunEnd& end) {
  if (end.reason == RunEnd::Reason::kCrashed && end.signal != 0) {
    const std::string name = signalName(end);
    return name.empty() ? "signal " + std::to_string(end.signal) : name;
  }
  const bool exited = end.reason == RunEnd::Reason::kExited && end.exitCode != 0;
  return exited ? "exit code " + std::to_string(end.exitCode) : std::string();
}

}  // namespace highwater::analysis
