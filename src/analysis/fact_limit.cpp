#include "analysis/fact_limit.h"

#include <cmath>
#include <optional>
#include <vector>

#include "core/option_values.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

constexpr std::string_view kForm =
    "KEY > +5 % (the change), KEY > +20 ms, or KEY > 250 ms (the value in B); < for a fall";

Error unknownKey(std::string_view option, std::string_view key) {
  std::vector<std::string> known;
  for (const Fact& fact : facts()) known.emplace_back(fact.key);
  const std::vector<std::string> near = nearestWords(key, known);
  return refusedValue(option, key,
                      near.empty()
                          ? "a key such as step_ms.p50, tokens_per_s or memory.driver_peak; "
                            "highwater compare --help lists them"
                          : alternatives(near));
}

struct Unit {
  Quantity quantity;
  std::string_view name;
  double size;  ///< in the fact's own unit
};
constexpr Unit kUnits[] = {{Quantity::kMilliseconds, "ms", 1},
                           {Quantity::kMilliseconds, "s", 1000},
                           {Quantity::kBytes, "B", 1},
                           {Quantity::kBytes, "KiB", static_cast<double>(kKiB)},
                           {Quantity::kBytes, "MiB", static_cast<double>(kMiB)},
                           {Quantity::kBytes, "GiB", static_cast<double>(kGiB)},
                           {Quantity::kBytesPerSecond, "MiB/s", static_cast<double>(kMiB)},
                           {Quantity::kPerSecond, "k", 1000},
                           {Quantity::kPerSecond, "M", 1e6}};

/// How many of the fact's own unit `unit` is; std::nullopt for a unit that it does not have.
std::optional<double> sizeOf(std::string_view unit, Quantity quantity) {
  if (unit.empty()) return 1;
  for (const Unit& each : kUnits) {
    if (each.quantity == quantity && each.name == unit) return each.size;
  }
  return std::nullopt;
}

std::string unitsOf(Quantity quantity) {
  std::vector<std::string> names;
  for (const Unit& each : kUnits) {
    if (each.quantity == quantity) names.emplace_back(each.name);
  }
  return alternatives(names);
}

}  // namespace

Result<FactLimit> parseFactLimit(std::string_view option, std::string_view text) {
  const auto sign = text.find_first_of("<>");
  if (sign == std::string_view::npos) return refusedValue(option, text, kForm);
  FactLimit limit;
  limit.text = std::string(withoutBlanks(text));
  limit.above = text[sign] == '>';
  const std::string_view key = withoutBlanks(text.substr(0, sign));
  limit.fact = findFact(key);
  if (!limit.fact) return unknownKey(option, key);
  std::string_view number = withoutBlanks(text.substr(sign + 1));
  const bool isSigned = number.starts_with('+') || number.starts_with('-');
  const bool isNegative = number.starts_with('-');
  if (isSigned) number.remove_prefix(1);
  const auto read = parseNumber(number);
  if (!read || !std::isfinite(read->value) || number.starts_with('-') || number.starts_with('+')) {
    return refusedValue(option, text, kForm);
  }
  const std::string_view unit = withoutBlanks(read->rest);
  const double value = isNegative ? -read->value : read->value;
  const bool isPercentage =
      limit.fact->quantity == Quantity::kPercent || limit.fact->quantity == Quantity::kShare;
  if (unit == "%" && isSigned) {
    limit.of = FactLimit::Of::kShareOfChange;
    limit.bound = value / 100;
    return limit;
  }
  if (unit == "%" && !isPercentage) {
    return refusedValue(option, text, "a sign for a change in percent, as in +5 %");
  }
  const auto size = unit == "%" ? std::optional(limit.fact->quantity == Quantity::kShare ? 0.01 : 1)
                                : sizeOf(unit, limit.fact->quantity);
  if (!size) {
    const std::string units = unitsOf(limit.fact->quantity);
    return refusedValue(option, text,
                        units.empty() ? "a number without a unit: " + std::string(key) + " has none"
                                      : "a unit that " + std::string(key) + " has: " + units);
  }
  limit.of = isSigned ? FactLimit::Of::kChange : FactLimit::Of::kValue;
  limit.bound = value * *size;
  return limit;
}

LimitOutcome judge(const FactLimit& limit, const Comparison& compared) {
  const ComparedFact* found = compared.find(limit.fact->key);
  if (!found || std::isnan(found->value.b)) return LimitOutcome::kUnknown;
  const ComparedValue& value = found->value;
  const auto isBeyond = [&](double number) {
    return limit.above ? number > limit.bound : number < limit.bound;
  };
  if (limit.of == FactLimit::Of::kValue) {
    return isBeyond(value.b) ? LimitOutcome::kBroken : LimitOutcome::kKept;
  }
  if (std::isnan(value.change())) return LimitOutcome::kUnknown;
  if (limit.fact->ofStep && std::isnan(value.noise)) return LimitOutcome::kUnknown;
  double change = value.change();
  if (limit.of == FactLimit::Of::kShareOfChange && change != 0) change /= std::abs(value.a);
  // A bound that no change at all breaks asks for an improvement, which must be there.
  const bool isAsked = isBeyond(0);
  return isBeyond(change) && (isAsked || found->differs()) ? LimitOutcome::kBroken
                                                           : LimitOutcome::kKept;
}

}  // namespace highwater::analysis
