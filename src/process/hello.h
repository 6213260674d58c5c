#pragma once

#include <string>

#include "core/messages.h"

namespace highwater::process {

/// Makes the first message of this process to its host: its versions, device, limits and
/// environment. `device` is the result of chooseDevice(), `token` that of the connection,
/// `workStart` of findWorkStart() or, in a user's script, of knownWorkStart().
[[nodiscard]] Hello helloOf(const DeviceReport& device, const RunClock& clock,
                            const std::string& token, WorkStart workStart);

}  // namespace highwater::process
