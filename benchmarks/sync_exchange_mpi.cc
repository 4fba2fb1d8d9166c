// How long SyncBatchNorm's exchange alone takes over MPI: MPI_Allreduce and MPI_Allgather of what
// backward sends, beside a ping-pong of two ranks and the adding alone. One line of JSON for each;
// benchmarks/sync_scaling starts it and reads them.
//
//   mpiexec -n 4 normgrad_sync_exchange_mpi [--rounds 200]
#define OMPI_SKIP_MPICXX 1  // MPI's C functions are all there is
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

namespace {

constexpr int kDigits =
    4;  // of the count, beside two sums per channel (normgrad/sync_batch_norm.h)

int rank_of_this() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

// The median of the slowest rank's times: nobody goes on before the last has its sums.
double median_us(int rounds, const std::function<void()>& exchange) {
  for (int i = 0; i < rounds / 4 + 1; ++i) exchange();
  std::vector<double> times(static_cast<std::size_t>(rounds));
  for (double& time : times) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    exchange();
    time = (MPI_Wtime() - begin) * 1e6;
  }
  MPI_Allreduce(MPI_IN_PLACE, times.data(), rounds, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds / 2)];
}

void report(const char* mode, int ranks, int channels, int width, int bytes, double us) {
  if (rank_of_this() != 0) return;
  std::printf(
      "{\"mode\": \"%s\", \"ranks\": %d, \"channels\": %d, \"width\": %d, \"bytes\": %d, "
      "\"us\": %.3f}\n",
      mode, ranks, channels, width, bytes, us);
  std::fflush(stdout);
}

// There and back between ranks 0 and 1: half of it is a message. The others wait at the barrier.
void ping_pong(int rounds, int channels, int width) {
  const int rank = rank_of_this(), bytes = (2 * channels + kDigits) * width;
  std::vector<char> buffer(static_cast<std::size_t>(bytes));
  const double us = median_us(rounds, [&] {
    if (rank > 1) return;
    for (const int sender : {0, 1}) {
      if (rank == sender) {
        MPI_Send(buffer.data(), bytes, MPI_BYTE, 1 - sender, 0, MPI_COMM_WORLD);
      } else {
        MPI_Recv(buffer.data(), bytes, MPI_BYTE, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
  });
  report("ping_pong", 2, channels, width, bytes, us / 2);
}

void add(int rounds, int channels, int width) {
  const int count = 2 * channels + kDigits, bytes = count * width;
  std::vector<char> here(static_cast<std::size_t>(bytes)), there(here);
  const MPI_Datatype type = width == 4 ? MPI_FLOAT : MPI_DOUBLE;
  report("add", 1, channels, width, bytes, median_us(rounds, [&] {
           MPI_Reduce_local(there.data(), here.data(), count, type, MPI_SUM);
         }));
}

void exchanges(int rounds, int ranks, int channels, int width) {
  const int count = 2 * channels + kDigits, bytes = count * width;
  const auto size = static_cast<std::size_t>(bytes);
  std::vector<char> sums(size), all(size * static_cast<std::size_t>(ranks));  // zeros: they stay
  const MPI_Datatype type = width == 4 ? MPI_FLOAT : MPI_DOUBLE;
  report("all_reduce", ranks, channels, width, bytes, median_us(rounds, [&] {
           MPI_Allreduce(MPI_IN_PLACE, sums.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
         }));
  report("rank_order", ranks, channels, width, bytes, median_us(rounds, [&] {
           MPI_Allgather(sums.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
         }));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0, rounds = 200;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 3 && std::strcmp(argv[1], "--rounds") == 0) {
    rounds = std::max(1, std::atoi(argv[2]));
  } else if (argc > 1) {
    std::fprintf(stderr, "usage: normgrad_sync_exchange_mpi [--rounds N]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (const int channels : {64, 256, 1024, 4096}) {
    for (const int width : {4, 8}) {
      if (ranks == 2) ping_pong(rounds, channels, width), add(rounds, channels, width);
      exchanges(rounds, ranks, channels, width);
    }
  }
  MPI_Finalize();
  return 0;
}
