#pragma once

#include <ATen/core/Generator.h>

namespace highwater::simmps {

/// The random generator of device mps:0. To the process it is a facade: the CPU generator that
/// draws the numbers belongs to the device's jobs alone, and seeding is a job in their order. As on
/// a Mac its first seed is another one in each process.
///
/// at::manual_seed() holds the facade's mutex while it calls set_current_seed(), and CPU kernels
/// lock the generator that they draw from; one generator for both would deadlock.
///
/// In a child that was forked while jobs were pending, every generator begins anew from its seed.
const at::Generator& defaultGenerator();

/// A new generator of device mps with PyTorch's default seed.
at::Generator newGenerator();

/// The generator that a job draws from for what the caller gave (undefined: the default one).
at::Generator generatorForJobs(const at::Generator& given);

}  // namespace highwater::simmps
