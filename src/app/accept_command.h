#pragma once

#include <string>

#include "app/options.h"
#include "core/messages.h"

namespace highwater::app {

/// The reason why a fallback is fine, without the spaces around it. kUsage where nothing is left,
/// or it is too long: whoever accepts one, asks here.
[[nodiscard]] Result<std::string> checkReason(const std::string& text);

/// "aten::gelu=REASON" or "gelu=REASON". kUsage where there is no op or no reason.
[[nodiscard]] Result<FallbackAcceptance> parseAcceptance(const std::string& text);
/// The same of "aten::gelu" or "gelu" and a reason.
[[nodiscard]] Result<FallbackAcceptance> acceptanceOf(const std::string& op,
                                                      const std::string& reason);

/// Takes back what was said of an op: "aten::gelu" or "gelu". kUsage where there is none.
[[nodiscard]] Result<FallbackAcceptance> parseWithdrawal(const std::string& op);

/// `highwater accept`: keeps in a recording that one of its fallbacks is fine, or takes that back.
/// Returns the exit code: 2 where the op never fell back in it, or there is nothing to take back.
[[nodiscard]] int runAccept(const AcceptOptions& options);

}  // namespace highwater::app
