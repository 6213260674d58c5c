#include "worker/training/training_errors.h"

#include <c10/util/Exception.h>

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
  std::string line = firstLine(error);
  if (!isRefusedAllocation(line)) return std::nullopt;
  return line;
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
  const std::string text = ofTorch ? ofTorch->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace highwater::worker
