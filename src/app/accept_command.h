#pragma once

#include <string>

#include "app/options.h"
#include "core/messages.h"

namespace highwater::app {

/// "aten::gelu=REASON" or "gelu=REASON". kUsage where there is no op or no reason.
[[nodiscard]] Result<FallbackAcceptance> parseAcceptance(const std::string& text);

/// `highwater accept`: keeps in a recording that one of its fallbacks is fine. Returns the exit
/// code: 2 where the op never fell back in it.
[[nodiscard]] int runAccept(const AcceptOptions& options);

}  // namespace highwater::app
