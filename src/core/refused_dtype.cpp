#include "core/refused_dtype.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace highwater {
namespace {

struct Refusal {
  std::string_view text;
  std::string_view dtype;  ///< empty: it stands between `text` and kAfterDtype
  bool needsNewerMacOs;
};
constexpr std::array<Refusal, 5> kRefusals = {{
    {"Cannot convert a MPS Tensor to float64", "float64", false},
    {"Cannot convert a float64 Tensor to MPS", "float64", false},
    {"Trying to convert ", "", false},
    {"MPS bfloat16 type is supported on MacOS", "bfloat16", true},
    {"MPS complex types are only supported on MacOS", "complex64", true},
}};
constexpr std::string_view kAfterDtype = " to the MPS backend but it does not have support";

/// The name in Python of a type that has another one in C++: "ComplexDouble" is "complex128".
std::string pythonName(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kNames = {
      {{"Double", "float64"},
       {"Float", "float32"},
       {"Half", "float16"},
       {"Long", "int64"},
       {"Int", "int32"},
       {"Short", "int16"},
       {"Char", "int8"},
       {"Byte", "uint8"},
       {"ComplexHalf", "complex32"},
       {"ComplexFloat", "complex64"},
       {"ComplexDouble", "complex128"}}};
  for (const auto& [name, python] : kNames) {
    if (name == type) return std::string(python);
  }
  std::string lower(type);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool isName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

std::optional<RefusedDtype> inLine(std::string_view line) {
  for (const Refusal& each : kRefusals) {
    const auto at = line.find(each.text);
    if (at == std::string_view::npos) continue;
    std::string dtype(each.dtype);
    if (dtype.empty()) {
      const std::string_view rest = line.substr(at + each.text.size());
      const auto end = rest.find(kAfterDtype);
      if (end == std::string_view::npos || !isName(rest.substr(0, end))) continue;
      dtype = pythonName(rest.substr(0, end));
    }
    return RefusedDtype{std::move(dtype), each.needsNewerMacOs, std::string(line.substr(at))};
  }
  return std::nullopt;
}

}  // namespace

std::optional<RefusedDtype> refusedDtype(std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (auto refused = inLine(text.substr(0, end))) return refused;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

std::string dtypeAdvice(const RefusedDtype& refused) {
  const bool isComplex = refused.dtype.starts_with("complex");
  if (refused.needsNewerMacOs) {
    return isComplex ? "update to macOS 14 or later, which has complex types; on this one compute "
                       "what is complex on the CPU"
                     : "update to macOS 14 or later, which has it, or use float32";
  }
  if (isComplex) {
    return "convert to complex64 before the move to the device, as in "
           "x.to(torch.complex64).to(\"mps\"); compute what needs " +
           refused.dtype + " on the CPU";
  }
  if (refused.dtype == "float64") {
    return "convert to float32 before the move to the device, as in "
           "x.to(torch.float32).to(\"mps\"): NumPy's arrays are float64 unless told otherwise; "
           "compute what needs float64 on the CPU";
  }
  if (refused.dtype.starts_with("uint")) {
    return "convert to an integer dtype that MPS has, such as int32 or int64, before the move to "
           "the device";
  }
  return "convert to a dtype that MPS has, such as float32, float16 or bfloat16, before the move "
         "to "
         "the device";
}

}  // namespace highwater
