#pragma once

#include <torch/version.h>

/// True where the libtorch that we compile against is at least MAJOR.MINOR.
#define HIGHWATER_TORCH_AT_LEAST(MAJOR, MINOR) \
  (TORCH_VERSION_MAJOR > (MAJOR) ||            \
   (TORCH_VERSION_MAJOR == (MAJOR) && TORCH_VERSION_MINOR >= (MINOR)))

/// "2.13.0": the libtorch that we compile against.
#define HIGHWATER_TEXT_OF(X) #X
#define HIGHWATER_TEXT(X) HIGHWATER_TEXT_OF(X)
#define HIGHWATER_TORCH_VERSION       \
  HIGHWATER_TEXT(TORCH_VERSION_MAJOR) \
  "." HIGHWATER_TEXT(TORCH_VERSION_MINOR) "." HIGHWATER_TEXT(TORCH_VERSION_PATCH)
