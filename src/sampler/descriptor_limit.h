// The limits of this process, for a tree of thousands of processes.
#pragma once

namespace sampan::sampler {

// As many descriptors as may be had: each process takes one. After the program was launched, so
// that it keeps the limit it would have had.
void raise_descriptor_limit();

}  // namespace sampan::sampler
