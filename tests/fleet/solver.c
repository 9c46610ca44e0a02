/* Ranks that compute, then wait for each other in MPI_Barrier: the one whose number is SLOW (default: none) does 30 % more in
   `relax`. Each barrier is a span, so that recordings can be aligned by it. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sampan/markers.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void compute(double seconds) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  const double end = now.tv_sec + now.tv_nsec / 1e9 + seconds;
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (now.tv_sec + now.tv_nsec / 1e9 < end);
}

__attribute__((noinline)) static void relax(double seconds) {
  compute(seconds);
  __asm__ volatile("");
}

__attribute__((noinline)) static void exchange(double seconds) {
  compute(seconds);
  __asm__ volatile("");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* const slow = getenv("SLOW");
  const double more = slow != NULL && atoi(slow) == rank ? 1.3 : 1;
  unsigned seed = 1;  // the same in all ranks; steps of no common length, with which samples do not keep step
  for (int step = 0; step < 80; ++step) {
    relax(0.03 * (0.5 + rand_r(&seed) / (double)RAND_MAX) * more);
    exchange(0.01);
    sampan_counter_add("cells", 1000 * more);
    sampan_span_begin("barrier");
    MPI_Barrier(MPI_COMM_WORLD);
    sampan_span_end();
  }
  if (rank == 0) printf("%d ranks\n", size);
  MPI_Finalize();
  return 0;
}
