#pragma once

#include <torch/version.h>

/// True where the libtorch that we compile against is at least MAJOR.MINOR.
#define HIGHWATER_TORCH_AT_LEAST(MAJOR, MINOR) \
  (TORCH_VERSION_MAJOR > (MAJOR) ||            \
   (TORCH_VERSION_MAJOR == (MAJOR) && TORCH_VERSION_MINOR >= (MINOR)))
