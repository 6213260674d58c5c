#include "worker/training/training_errors.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <string_view>

#include "core/out_of_memory.h"
#include "core/sim_knobs.h"

namespace highwater::worker {

std::string deviceName(const c10::Device& device) {
  return c10::Device(device.type()).str();
}

bool isOutOfMemory(const std::exception& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error)) return true;
  return std::string_view(error.what()).find("MPS backend out of memory") != std::string_view::npos;
}

std::optional<std::string> refusedAllocation(const std::exception& error) {
  const auto* ofTorch = dynamic_cast<const c10::Error*>(&error);
  std::string text = ofTorch ? ofTorch->what_without_backtrace() : error.what();
  // TorchScript puts the lines of the model's code before the message.
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (isRefusedAllocation(line)) {
      constexpr std::string_view kMark = "RuntimeError: ";
      if (line.starts_with(kMark)) line.erase(0, kMark.size());
      return line;
    }
    begin = end + 1;
  }
  return std::nullopt;
}

bool isMissingOp(const std::exception& error) {
  return dynamic_cast<const c10::NotImplementedError*>(&error) != nullptr &&
         firstLine(error).find("MPS") != std::string::npos;
}

std::string missingOpText(const std::exception& error, const std::string& doctorOptions) {
  const std::string said = firstLine(error);
  return said.substr(0, said.find(". ")) + "; give --fallback (or set " + kMpsFallbackVariable +
         "=1) to run such ops on the CPU; 'highwater doctor " + doctorOptions +
         "', with the same options, lists them before a run";
}

std::string firstLine(const std::exception& error) {
  const auto* ofTorch = dynamic_cast<const c10::Error*>(&error);
  std::string text = ofTorch ? ofTorch->what_without_backtrace() : error.what();
  // TorchScript puts the lines of the model's code before the message.
  constexpr std::string_view kMark = "RuntimeError: ";
  const auto mark = text.rfind(kMark);
  if (text.starts_with("The following operation failed in the TorchScript interpreter") &&
      mark != std::string::npos) {
    text.erase(0, mark + kMark.size());
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace highwater::worker
