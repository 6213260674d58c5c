#include "probe/call_sites/symbolizer.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <utility>

namespace highwater::probe {
namespace {

/// Cuts "name(arguments) const" before its arguments: the last parentheses at the outer level,
/// since "(anonymous namespace)" and "operator()" have parentheses too.
void cutArguments(std::string& name) {
  if (name.empty()) return;
  const std::size_t close = name.rfind(')');
  if (close == std::string::npos) return;
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) {
      if (i > 0) name.resize(i);
      return;
    }
  }
}

/// Removes the result type, with which instances of templates are demangled: "float
/// at::item<float>".
void cutResult(std::string& name) {
  if (name.find("operator ") != std::string::npos) return;  // "A::operator bool" has no result type
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    const char c = name[i];
    if (c == '>' || c == ')') ++depth;
    if (c == '<' || c == '(') --depth;
    if (c == ' ' && depth == 0) {
      name.erase(0, i + 1);
      return;
    }
  }
}

/// Removes template arguments, which are long and tell the reader little.
void cutTemplateArguments(std::string& name) {
  if (name.empty() || name.back() != '>' || name.find("operator") != std::string::npos) return;
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == '>') ++depth;
    if (name[i] == '<' && --depth == 0) {
      if (i > 0) name.resize(i);
      return;
    }
  }
}

}  // namespace

std::string functionName(const char* symbol) {
  if (!symbol || *symbol == '\0') return {};
  std::string name(symbol);
  // Other names must not be demangled: "f" would become "float".
  if (name.starts_with("_Z")) {
    int status = 0;
    char* demangled = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    if (status == 0 && demangled) name = demangled;
    std::free(demangled);
    return shortFunctionName(std::move(name));
  }
  cutTemplateArguments(name);
  return name;
}

std::string shortFunctionName(std::string name) {
  if (name.starts_with("-[") || name.starts_with("+[")) return name;
  cutArguments(name);
  cutResult(name);
  cutTemplateArguments(name);
  return name;
}

std::vector<SourcePlace> placesByLinker(const void* returnAddress) {
  Dl_info info{};
  // A return address may be the first byte of the next function.
  if (!::dladdr(static_cast<const char*>(returnAddress) - 1, &info)) return {};
  return {{functionName(info.dli_sname), info.dli_fname ? info.dli_fname : "", 0}};
}

}  // namespace highwater::probe
