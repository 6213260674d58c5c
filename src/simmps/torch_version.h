#pragma once

#include <torch/version.h>

#include "core/torch_version.h"

/// HIGHWATER_TORCH_VERSION is the version of the libtorch that this file is compiled against, as
/// text: "2.13.0". The other macros are its parts.
#define HIGHWATER_TEXT_OF(X) #X
#define HIGHWATER_TEXT(X) HIGHWATER_TEXT_OF(X)
#define HIGHWATER_TORCH_VERSION       \
  HIGHWATER_TEXT(TORCH_VERSION_MAJOR) \
  "." HIGHWATER_TEXT(TORCH_VERSION_MINOR) "." HIGHWATER_TEXT(TORCH_VERSION_PATCH)
