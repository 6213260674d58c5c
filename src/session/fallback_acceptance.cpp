#include "session/fallback_acceptance.h"

#include <QString>

#include "core/clock.h"
#include "core/option_values.h"
#include "store/append.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace highwater::session {
namespace {

std::string withNamespace(const std::string& op) {
  return op.find("::") == std::string::npos ? "aten::" + op : op;
}

Error tooLong(const char* what, std::size_t most) {
  return usageError(std::string("the ") + what + " of an accepted fallback is too long; at most " +
                    std::to_string(most) + " bytes");
}

}  // namespace

Result<std::string> checkReason(const std::string& text) {
  // QString trims the spaces of all scripts.
  const std::string reason = QString::fromStdString(text).trimmed().toStdString();
  if (reason.empty()) {
    return refusedValue("the reason of an accepted fallback", text,
                        "a few words, for example \"once an epoch only\"");
  }
  if (reason.size() > wire::kMaxTextBytes) return tooLong("reason", wire::kMaxTextBytes);
  return reason;
}

Result<FallbackAcceptance> parseAcceptance(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return refusedValue("an accepted fallback", text,
                        "OP=REASON, for example aten::gelu=\"once an epoch only\"");
  }
  return makeAcceptance(text.substr(0, equals), text.substr(equals + 1));
}

Result<FallbackAcceptance> makeAcceptance(const std::string& op, const std::string& reason) {
  auto checked = checkReason(reason);
  if (!checked) return checked.error();
  FallbackAcceptance acceptance;
  acceptance.op = withNamespace(op);
  acceptance.reason = std::move(*checked);
  acceptance.unixTimeNs = unixNs();
  if (acceptance.op.size() > wire::kMaxNameBytes) return tooLong("op", wire::kMaxNameBytes);
  return acceptance;
}

Result<FallbackAcceptance> makeWithdrawal(const std::string& op) {
  if (op.empty()) return usageError("--fallback names no op; give one, for example aten::gelu");
  FallbackAcceptance withdrawal;
  withdrawal.op = withNamespace(op);
  withdrawal.accepted = false;
  withdrawal.unixTimeNs = unixNs();
  if (withdrawal.op.size() > wire::kMaxNameBytes) return tooLong("op", wire::kMaxNameBytes);
  return withdrawal;
}

Result<void> appendAcceptance(const std::filesystem::path& recording,
                              const FallbackAcceptance& acceptance) {
  return store::appendAcceptance(recording, wire::encode(acceptance), acceptance);
}

}  // namespace highwater::session
