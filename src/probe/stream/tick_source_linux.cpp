#include <fstream>
#include <string>

#include "probe/stream/tick_source.h"

namespace highwater::probe {

bool ticksAreSteady() {
#if defined(__x86_64__)
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  return file >> source && source == "tsc";
#elif defined(__aarch64__)
  return true;  // the generic timer: part of the architecture
#else
  return false;
#endif
}

}  // namespace highwater::probe
