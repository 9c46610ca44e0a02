// Recordings into profiles, and the names of a profile back into its recording. Only what reads
// recordings includes this header: reports and exporters see the model alone.
#pragma once

#include "profile/profile.h"
#include "profile/python_stacks.h"
#include "recording/merge.h"
#include "recording/names.h"
#include "recording/reader.h"

namespace sampan::profile {

Profile load(recording::Recording recording, PythonFrames python = PythonFrames::kMixed);

// Two recordings as the sides of a comparison (diff.h), both beginning at time 0. Once the profile
// is symbolized, match_functions() has to be called.
Profile load_sides(recording::MergeInput a, recording::MergeInput b,
                   PythonFrames python = PythonFrames::kMixed);

// Enters names as functions and lines. Names of frames that the profile does not have are ignored.
void enter_names(const recording::Names& names, Profile* profile);

// Enters the names of code that was made at run time, after everything else. See jit_code.h.
void enter_jit_names(const recording::Names& names, Profile* profile);

// The names of all frames of the recording, with all functions and texts of the profile.
recording::Names names_to_record(const Profile& profile);

}  // namespace sampan::profile
