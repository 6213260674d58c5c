#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "simmps/output_shapes.h"

namespace highwater::simmps {

/// What the boxed kernel needs to know about an op, read from its schema once a thread.
struct OpTraits {
  bool hasOut = false;                   ///< out= arguments
  bool returnsView = false;              ///< of its first tensor's memory
  bool hasFreshResults = false;          ///< returns tensors that are no arguments
  bool returnsOtherThanTensors = false;  ///< lists, numbers, booleans: the host waits for them
  bool sizedByValues = false;            ///< nonzero and the like: only the run tells the size
  bool indexesByMasks = false;           ///< sized by values where an index is a boolean mask
  bool takesHostTensors = false;         ///< CPU tensors are allowed beside device tensors
  bool lacksMpsKernel = false;
  bool isPointwise = false;    ///< sizes are the broadcast of the tensor arguments' sizes
  bool hasMetaKernel = false;  ///< in C++
  ShapeFunction shapes = nullptr;
  int deviceArgument = -1;
  int generatorArgument = -1;
};

const OpTraits& traitsOf(const c10::OperatorHandle& op);

}  // namespace highwater::simmps
