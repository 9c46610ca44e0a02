// stdin, stdout and stderr, when some of them are closed or cannot take what is written.
#pragma once

namespace sampan::cli {

// Keeps files of ours from getting the numbers of standard streams that are closed: a message would go into them.
// Call it before anything is opened. Programs that we execute find these streams closed, as without us.
void keep_closed_streams_free();

// At the end: what was printed has arrived. Otherwise says why not, and returns false.
bool stdout_arrived();

}  // namespace sampan::cli
