#pragma once

#include <filesystem>
#include <string>

#include "core/messages.h"
#include "core/result.h"
#include "run/run_id.h"

namespace highwater::run {

/// Checks the user's reason for accepting a fallback (an op that runs on the CPU), and returns it
/// without surrounding spaces. Fails with kUsage if it is empty or longer than 64 KiB.
[[nodiscard]] Result<std::string> checkReason(const std::string& text);

/// Parses the user's acceptance of a fallback, "aten::gelu=REASON" or "gelu=REASON", and dates it
/// now. Fails with kUsage if the op or the reason is missing or too long.
[[nodiscard]] Result<FallbackAcceptance> parseAcceptance(const std::string& text);

/// Makes the acceptance of a fallback: the user allows `op` ("aten::gelu" or "gelu") to run on the
/// CPU. Dates it now. Fails with kUsage if the reason is empty, or if the reason or `op` is too
/// long.
[[nodiscard]] Result<FallbackAcceptance> makeAcceptance(const std::string& op,
                                                        const std::string& reason);

/// Makes the withdrawal of the user's acceptance that `op` ("aten::gelu" or "gelu") runs on the
/// CPU. Dates it now. Fails with kUsage if `op` is empty or too long.
[[nodiscard]] Result<FallbackAcceptance> makeWithdrawal(const std::string& op);

/// Appends the acceptance of a fallback, or its withdrawal, to a recording whose run has ended.
/// Fails as store::append() does, for example with kFailed if the recording is being written or is
/// open elsewhere, or if the file holds another run than `of`.
[[nodiscard]] Result<void> appendAcceptance(const std::filesystem::path& recording,
                                            const FallbackAcceptance& acceptance,
                                            const std::optional<RunId>& of = std::nullopt);

}  // namespace highwater::run
