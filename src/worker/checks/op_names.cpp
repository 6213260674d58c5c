#include "worker/checks/op_names.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/version.h>

#include <vector>

#include "core/option_values.h"

namespace highwater::worker {

Result<void> checkOpName(const std::string& name) {
  std::vector<std::string> known;
  for (const c10::OperatorName& each : c10::Dispatcher::singleton().getAllOpNames()) {
    if (each.name == name) return {};
    known.push_back(each.name);
  }
  // Suggestions have no overload, as reports name ops without it.
  const std::string bare = name.substr(0, name.find('.'));
  const auto near = nearestWords(bare, known);
  return usageError("PyTorch " TORCH_VERSION " has no op \"" + name + "\"; " +
                    (near.empty() ? "give its name as in a report, for example aten::gelu"
                                  : "did you mean " + alternatives(near) + "?"));
}

}  // namespace highwater::worker
