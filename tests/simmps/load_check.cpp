#include <dlfcn.h>

#include <cstdio>

// simmps_load LIBRARY...: opens the libraries in turn, in a process without torch, then prints the
// outcome of the last one, the simulated device. Exits with 1 if it refuses.
int main(int argc, char** argv) {
  void* library = nullptr;
  for (int i = 1; i < argc; ++i) {
    library = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      std::printf("%s\n", dlerror());
      return 2;
    }
  }
  using Text = const char* (*)();
  const auto error = reinterpret_cast<Text>(dlsym(library, "highwater_simmps_error"));
  if (!error) return 2;
  const char* text = error();
  std::printf("%s\n", text ? text : "installed");
  return text ? 1 : 0;
}
