#include <dlfcn.h>

#include <cstdio>

// simmps_load <library>...: opens one after another, as a process without torch of its own would,
// then prints what the last one, the simulated device, has to say. Exit code 1 where it refuses.
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
