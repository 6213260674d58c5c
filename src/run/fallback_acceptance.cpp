#include "run/fallback_acceptance.h"

#include <QString>

#include "core/clock.h"
#include "core/option_values.h"
#include "store/append.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace highwater::run {
namespace {

Error tooLong(const char* what, std::size_t most) {
  return usageError(std::string("the ") + what + " of an accepted fallback is too long; at most " +
                    std::to_string(most) + " bytes");
}

/// The op's name with its namespace, "aten" where it names none.
Result<std::string> fullName(const std::string& op) {
  if (op.empty()) return usageError("--fallback names no op; give one, for example aten::gelu");
  std::string name = op.find("::") == std::string::npos ? "aten::" + op : op;
  if (name.size() > wire::kMaxNameBytes) return tooLong("op", wire::kMaxNameBytes);
  return name;
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
  auto name = fullName(op);
  if (!name) return name.error();
  FallbackAcceptance acceptance;
  acceptance.op = std::move(*name);
  acceptance.reason = std::move(*checked);
  acceptance.unixTimeNs = unixNs();
  return acceptance;
}

Result<FallbackAcceptance> makeWithdrawal(const std::string& op) {
  auto name = fullName(op);
  if (!name) return name.error();
  FallbackAcceptance withdrawal;
  withdrawal.op = std::move(*name);
  withdrawal.accepted = false;
  withdrawal.unixTimeNs = unixNs();
  return withdrawal;
}

Result<void> appendAcceptance(const std::filesystem::path& recording,
                              const FallbackAcceptance& acceptance,
                              const std::optional<RunId>& of) {
  return store::append(recording, wire::encode(acceptance), acceptance, checkOfRun(recording, of));
}

}  // namespace highwater::run
