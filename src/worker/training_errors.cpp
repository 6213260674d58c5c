#include "worker/training_errors.h"

#include <c10/util/Exception.h>

#include <string_view>

namespace highwater::worker {

std::string deviceName(const c10::Device& device) {
  return c10::Device(device.type()).str();
}

bool isOutOfMemory(const std::exception& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error)) return true;
  return std::string_view(error.what()).find("MPS backend out of memory") != std::string_view::npos;
}

std::string firstLine(const std::exception& error) {
  const auto* ofTorch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = ofTorch ? ofTorch->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace highwater::worker
