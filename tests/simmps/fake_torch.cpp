#include <cstdio>
#include <string>

// A libtorch_cpu.so whose only symbol tells a version, for which nothing is ever built.
namespace at {

__attribute__((visibility("default"))) std::string show_config() {
  std::puts("touched a symbol");
  return "PyTorch built with:\n  - Build settings: BLAS_INFO=mkl, TORCH_VERSION=1.6.0, "
         "USE_CUDA=0, ";
}

}  // namespace at
