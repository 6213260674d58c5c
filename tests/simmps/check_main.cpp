#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "simmps/check.h"

// simmps_check LIBRARY CHECK...: loads the device first, as the worker does, then runs the checks
// and prints the bytes that the device still holds. simmps_check LIBRARY --ask-first: asks PyTorch
// for MPS before loading. simmps_check LIBRARY: prints the result of loading. Exits with 1 on
// failure.
namespace {

std::map<std::string, checks::Function>& registered() {
  static std::map<std::string, checks::Function> all;
  return all;
}

const char* ask(void* library, const char* function) {
  const auto symbol = reinterpret_cast<const char* (*)()>(dlsym(library, function));
  return symbol ? symbol() : "symbol not exported";
}

}  // namespace

checks::Registered::Registered(const char* name, Function function) {
  registered().emplace(name, function);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool askFirst = argc == 3 && std::strcmp(argv[2], "--ask-first") == 0;
  if (askFirst) checks::askForMps();
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  if (const char* error = ask(library, "highwater_simmps_error")) {
    std::printf("refused: %s\n", error);
    if (checks::askForMps()) std::printf("and PyTorch says that there is MPS\n");
    return 1;
  }
  if (argc == 2) {
    std::printf("%s\n", ask(library, "highwater_simmps_version"));
    return 0;
  }
  // The gradients of a LayerNorm's weights depend on the number of threads that compute them
  // (ATen/native/cpu/layer_norm_kernel.cpp: a sum for each thread). The host's thread and the
  // device's each have a number of their own, unless it is set: where they differ, so do the
  // losses.
  if (!std::getenv("OMP_NUM_THREADS")) at::set_num_threads(2);
  for (int i = 2; i < argc; ++i) {
    const auto check = registered().find(argv[i]);
    if (check == registered().end()) {
      std::printf("no check is called %s\n", argv[i]);
      return 2;
    }
    try {
      check->second();
    } catch (const std::exception& failure) {
      std::printf("%s: %s\n", argv[i], failure.what());
      return 1;
    }
  }
  std::printf("current bytes: %zu\n", checks::settledMemory());
  return 0;
}
