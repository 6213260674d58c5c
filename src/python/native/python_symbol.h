#pragma once

#include <dlfcn.h>

namespace highwater::python {

/// Finds a function or object of the CPython that runs this process: the library links none.
/// `found` becomes a pointer to it; null, and false, where this Python has none of the name.
template <typename T>
bool findPythonSymbol(const char* name, T& found) {
  found = reinterpret_cast<T>(::dlsym(RTLD_DEFAULT, name));
  return found != nullptr;
}

}  // namespace highwater::python
