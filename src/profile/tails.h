// Tails of distributions, for tests of hypotheses.
#pragma once

#include <cstdint>

namespace sampan::profile {

// That at least `hits` of `tries` independent events happen, each with this probability.
double binomial_tail(uint64_t tries, double probability, uint64_t hits);

// That Student's t, of these degrees of freedom (at least 1), is larger than `t`.
double student_tail(double t, uint64_t degrees);

}  // namespace sampan::profile
