#include "core/torch_build.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace highwater {
namespace {

struct Blas {
  std::string_view mark;  ///< in a path, or the value of BLAS_INFO
  std::string_view name;
};
// Debian's libblas.so.3 may lie in a folder named after the library that it forwards to.
constexpr std::array kBlas = {
    Blas{"openblas", "OpenBLAS"}, Blas{"libmkl", "MKL"},     Blas{"blis", "BLIS"},
    Blas{"atlas", "ATLAS"},       Blas{"nvpl_blas", "NVPL"},
};
constexpr std::array kBuiltInBlas = {
    Blas{"mkl", "MKL"},
    Blas{"open", "OpenBLAS"},
    Blas{"accelerate", "Accelerate"},
};

std::string_view fileName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string buildSetting(std::string_view config, std::string_view key) {
  const std::string assignment = std::string(key) + '=';
  const auto start = config.find(assignment);
  if (start == std::string_view::npos) return {};
  const std::string_view value = config.substr(start + assignment.size());
  return std::string(value.substr(0, value.find_first_of(", \n")));
}

std::string blasName(std::span<const std::string> libraries, std::string_view config) {
  for (const Blas& each : kBlas) {
    for (const std::string& path : libraries) {
      const std::string_view file = fileName(path);
      const bool isBlas = file.starts_with("libblas.") ? path.find(each.mark) != std::string::npos
                                                       : file.find(each.mark) != std::string::npos;
      if (isBlas) return std::string(each.name) + " (" + path + ')';
    }
  }
  for (const std::string& path : libraries) {
    if (fileName(path).starts_with("libblas.")) {
      return std::string(kReferenceBlas) + " (" + path + ')';
    }
  }
  std::string info = buildSetting(config, "BLAS_INFO");
  std::transform(info.begin(), info.end(), info.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Blas& each : kBuiltInBlas) {
    if (info == each.mark) return std::string(each.name) + " (inside libtorch)";
  }
  return info;
}

bool isBuildOf(std::string_view version, std::string_view release) {
  if (!version.starts_with(release)) return false;
  const std::string_view rest = version.substr(release.size());
  return rest.empty() || (rest.front() != '.' && (rest.front() < '0' || rest.front() > '9'));
}

std::string otherTorchText(std::string_view builtFor, std::string_view running,
                           std::string_view library, bool isMac) {
  std::string text = "this worker was built for PyTorch ";
  text.append(builtFor).append(" and cannot run with PyTorch ").append(running);
  if (!library.empty()) text.append(" (").append(library).append(")");
  text.append("; remove that one from ").append(isMac ? "DYLD_LIBRARY_PATH" : "LD_LIBRARY_PATH");
  return text + ", or build Highwater for it (Torch_DIR=... packaging/setup)";
}

}  // namespace highwater
