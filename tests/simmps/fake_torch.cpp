#include <cstdio>
#include <string>

// A libtorch_cpu.so without a symbol that the device could use, but for the one that says a
// version.
namespace at {

__attribute__((visibility("default"))) std::string show_config() {
  std::puts("touched a symbol");
  return "PyTorch built with:\n  - Build settings: BLAS_INFO=mkl, TORCH_VERSION=2.6.0, "
         "USE_CUDA=0, ";
}

}  // namespace at
