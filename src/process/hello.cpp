#include "process/hello.h"

#include <unistd.h>

#include "core/version.h"
#include "process/device.h"
#include "process/environment.h"
#include "process/platform.h"
#include "process/running_torch.h"
#include "wire/limits.h"

namespace highwater::process {

Hello helloOf(const DeviceReport& device, const RunClock& clock, const std::string& token,
              WorkStart workStart) {
  Hello hello;
  hello.protocolVersion = wire::kProtocolVersion;
  hello.token = token;
  hello.workerVersion = kVersion;
  hello.torchVersion = torchVersion();
  hello.blas = torchBlas();
  hello.platform = platformName();
  hello.processId = static_cast<std::uint64_t>(::getpid());
  hello.clock = clock;
  hello.device = device;
  hello.limits = readMemoryLimits(device);
  hello.environment = relevantEnvironment();
  hello.workStart = workStart;
  return hello;
}

}  // namespace highwater::process
