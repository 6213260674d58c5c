#pragma once

#include <cstddef>
#include <string>

struct _object;

namespace highwater::python::waits {

/// Has the calls of PyTorch's builtin functions that wait for the device recorded as sync points:
/// those of torch.mps, torch.accelerator, torch.Event and torch.Stream. `torch` is the module,
/// `headBytes` Python's object.__basicsize__. Returns the names of those that cannot be watched; ""
/// for none. Under the GIL.
///
/// The functions' definitions get other entry points. So a function keeps its identity, signature
/// and documentation, and every call from Python is seen, also by a name that was imported before.
/// C++ code that waits through libtorch is not seen.
[[nodiscard]] std::string watchWaitingCalls(_object* torch, std::size_t headBytes,
                                            bool isSimulated);

}  // namespace highwater::python::waits
