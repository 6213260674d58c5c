#pragma once

#include <array>
#include <cstdint>

#include "tuning/memory_model.h"

namespace highwater::test {

/// A measured setting: the peaks from the second step on, in bytes.
struct MeasuredPeak {
  std::uint32_t batch, length;
  std::uint64_t current, driver;
};

/// The issue classifier of preset small on the simulated device, each setting in a fresh process of
/// five steps (highwater record --device sim --steps 5 --batch ... --seq ...).
inline constexpr std::array<MeasuredPeak, 42> kMeasuredPeaks{{
    {1, 32, 20072960, 50331648},      {4, 32, 21909760, 50331648},
    {8, 32, 29331200, 58720256},      {16, 32, 43315200, 75497472},
    {24, 32, 50554880, 75497472},     {32, 32, 64276736, 83886080},
    {48, 32, 91862272, 109051904},    {64, 32, 119446784, 125829120},
    {96, 32, 105373696, 117440512},   {128, 32, 123721984, 150994944},
    {192, 32, 179585536, 1157627904}, {256, 32, 235449088, 1191182336},
    {1, 64, 20994304, 50331648},      {4, 64, 30826240, 58720256},
    {8, 64, 47489024, 75497472},      {16, 64, 72624128, 92274688},
    {24, 64, 90384128, 125829120},    {32, 64, 115334912, 142606336},
    {48, 64, 108460544, 150994944},   {64, 64, 140560896, 150994944},
    {96, 64, 204763136, 1157627904},  {128, 64, 268802304, 1191182336},
    {192, 64, 397206016, 1157627904}, {256, 64, 525544704, 1191182336},
    {1, 128, 23936256, 58720256},     {4, 128, 55866880, 83886080},
    {8, 128, 69603840, 75497472},     {16, 128, 129967104, 142606336},
    {24, 128, 133610752, 150994944},  {32, 128, 161500416, 184549376},
    {48, 128, 236154880, 1124073472}, {64, 128, 310808576, 1157627904},
    {96, 128, 460117504, 1157627904}, {128, 128, 609229568, 1191182336},
    {1, 256, 42359552, 75497472},     {4, 256, 88470016, 109051904},
    {8, 256, 167699456, 176160768},   {16, 256, 228658432, 1124073472},
    {24, 256, 336858368, 1124073472}, {32, 256, 445058304, 1157627904},
    {48, 256, 640419840, 1157627904}, {64, 256, 850331648, 1191182336},
}};

/// The measured settings as observations.
inline tuning::Observation observationOf(const MeasuredPeak& peak) {
  return {.setting = {peak.batch, peak.length},
          .peakCurrent = peak.current,
          .exact = true,
          .peakDriver = peak.driver,
          .steps = 4};
}

}  // namespace highwater::test
