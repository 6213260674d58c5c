#pragma once

#include <ATen/core/Generator.h>

namespace highwater::simmps {

/// The random generator of device mps:0. Callers see a facade. Jobs draw the numbers from a CPU
/// generator behind it, and seeding is a job too. As on a Mac, its first seed differs between
/// processes.
///
/// There are two generators because at::manual_seed() holds the facade's mutex while it calls
/// set_current_seed(), and CPU kernels lock the generator that they draw from: one for both would
/// deadlock.
///
/// In a child that was forked while jobs were pending, every generator restarts from its seed.
const at::Generator& defaultGenerator();

/// Creates a generator of device mps with PyTorch's default seed.
at::Generator newGenerator();

/// Returns the CPU generator from which jobs draw numbers for `given`, a generator of device mps;
/// an undefined one means defaultGenerator(). Throws c10::Error for a generator of another device.
at::Generator generatorForJobs(const at::Generator& given);

}  // namespace highwater::simmps
