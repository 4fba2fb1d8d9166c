// SyncBatchNorm on many machines, over MPI: every rank has some rows of a batch, or none, and gets
// what BatchNorm of the whole batch computes. Checks every number against the formulas.
//
//   mpiexec -n 4 sync_batch_norm_mpi [--rows 3,1,0,4] [--f32-sums] [--rank-order]
//
// --rows         how many rows each rank has (3, 1, 0, 4, and so on from the start)
// --f32-sums     backward's sums travel in f32
// --rank-order   they are added in the order of the ranks: the same bits, however MPI adds
// --rotate N     ranks change places: process p has rank p + N
// --dies         the last rank dies between forward and backward
#define OMPI_SKIP_MPICXX 1  // MPI's C functions are all there is
#include <mpi.h>
#include <normgrad/last_error.h>
#include <normgrad/sync_batch_norm.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "exact_batch_norm.h"

using normgrad::Arg;
using normgrad::DataType;
using normgrad::Tensor;

// All that the library asks of MPI. MPI_SUCCESS is 0.
static int all_gather(void* context, const void* part, void* parts, std::size_t bytes) {
  const int count = static_cast<int>(bytes);
  return MPI_Allgather(part, count, MPI_BYTE, parts, count, MPI_BYTE,
                       *static_cast<MPI_Comm*>(context));
}
static int all_reduce(void* context, void* sums, std::size_t count, DataType dtype) {
  return MPI_Allreduce(MPI_IN_PLACE, sums, static_cast<int>(count),
                       dtype == DataType::kF32 ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM,
                       *static_cast<MPI_Comm*>(context));
}

// A rank that cannot go on ends all of them: the others may be waiting for it.
static void must(normgrad::Status status) {
  if (status == normgrad::Status::kOk) return;
  std::fprintf(stderr, "status %d: %s\n", static_cast<int>(status), normgradGetLastError());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static Tensor rows_of(const char* name, std::int64_t rows) {
  return {DataType::kF32, 3, {rows, kChannels, kLength}, {kRow, kLength, 1}, name};
}
static Tensor channels(const char* name, DataType dtype) {
  return {dtype, 1, {kChannels}, {1}, name};
}

struct Options {
  std::vector<int> rows{3, 1, 0, 4};
  bool f32_sums = false, rank_order = false, dies = false;
  int rotate = 0;
};

// The part of a rank: forward, then backward. Plans may be kept and run again.
static void sync_batch_norm(Batch& part, const Options& options, int rank, int ranks,
                            MPI_Comm comm) {
  const normgrad::Exchange exchange{all_gather, all_reduce, &comm};

  normgrad::SyncProblem forward;
  forward.op = normgrad::Op::kSyncBatchNorm;
  forward[Arg::kY] = rows_of("y", part.rows), forward[Arg::kX] = rows_of("x", part.rows);
  forward[Arg::kMean] = channels("mean", DataType::kF64);
  forward[Arg::kRstd] = channels("rstd", DataType::kF64);
  forward[Arg::kW] = channels("w", DataType::kF32), forward[Arg::kB] = channels("b", DataType::kF32);
  forward.eps = kEps;
  forward.ranks = ranks;
  normgrad::Addresses in_forward;
  in_forward[Arg::kY] = part.y.data(), in_forward[Arg::kX] = part.x.data();
  in_forward[Arg::kMean] = part.mean.data(), in_forward[Arg::kRstd] = part.rstd.data();
  in_forward[Arg::kW] = part.w.data(), in_forward[Arg::kB] = part.b.data();

  normgrad::SyncPlan plan;
  must(make_plan(forward, &plan));
  std::vector<char> workspace(plan.workspace_bytes());
  must(run(plan, in_forward, exchange, workspace.data(), workspace.size()));

  if (options.dies && rank == ranks - 1) std::raise(SIGKILL);

  normgrad::SyncProblem backward;
  backward.op = normgrad::Op::kSyncBatchNormBackward;
  backward[Arg::kDx] = rows_of("dx", part.rows);
  backward[Arg::kDy] = rows_of("dy", part.rows), backward[Arg::kX] = forward[Arg::kX];
  backward[Arg::kDw] = channels("dw", DataType::kF64), backward[Arg::kDb] = channels("db", DataType::kF64);
  backward[Arg::kW] = forward[Arg::kW], backward[Arg::kMean] = forward[Arg::kMean], backward[Arg::kRstd] = forward[Arg::kRstd];
  backward.sums = options.f32_sums ? DataType::kF32 : DataType::kF64;
  backward.in_rank_order = options.rank_order;
  backward.ranks = ranks;
  normgrad::Addresses in_backward;
  in_backward[Arg::kDx] = part.dx.data(), in_backward[Arg::kDy] = part.dy.data();
  in_backward[Arg::kDw] = part.dw.data(), in_backward[Arg::kDb] = part.db.data();
  in_backward[Arg::kX] = part.x.data(), in_backward[Arg::kW] = part.w.data();
  in_backward[Arg::kMean] = part.mean.data(), in_backward[Arg::kRstd] = part.rstd.data();

  must(make_plan(backward, &plan));
  workspace.resize(plan.workspace_bytes());
  must(run(plan, in_backward, exchange, workspace.data(), workspace.size()));
}

// The same by one process that has the whole batch.
static void batch_norm(Batch& whole) {
  normgrad::Problem forward;
  forward.op = normgrad::Op::kBatchNorm;
  forward[Arg::kY] = rows_of("y", whole.rows), forward[Arg::kX] = rows_of("x", whole.rows);
  forward[Arg::kMean] = channels("mean", DataType::kF64);
  forward[Arg::kRstd] = channels("rstd", DataType::kF64);
  forward[Arg::kW] = channels("w", DataType::kF32), forward[Arg::kB] = channels("b", DataType::kF32);
  forward.eps = kEps;
  normgrad::Addresses in_forward;
  in_forward[Arg::kY] = whole.y.data(), in_forward[Arg::kX] = whole.x.data();
  in_forward[Arg::kMean] = whole.mean.data(), in_forward[Arg::kRstd] = whole.rstd.data();
  in_forward[Arg::kW] = whole.w.data(), in_forward[Arg::kB] = whole.b.data();
  normgrad::Plan plan;
  must(make_plan(forward, &plan));
  std::vector<char> workspace(plan.workspace_bytes());
  must(run(plan, in_forward, workspace.data(), workspace.size()));

  normgrad::Problem backward;
  backward.op = normgrad::Op::kBatchNormBackward;
  backward[Arg::kDx] = rows_of("dx", whole.rows);
  backward[Arg::kDy] = rows_of("dy", whole.rows), backward[Arg::kX] = forward[Arg::kX];
  backward[Arg::kDw] = channels("dw", DataType::kF64), backward[Arg::kDb] = channels("db", DataType::kF64);
  backward[Arg::kW] = forward[Arg::kW], backward[Arg::kMean] = forward[Arg::kMean], backward[Arg::kRstd] = forward[Arg::kRstd];
  normgrad::Addresses in_backward;
  in_backward[Arg::kDx] = whole.dx.data(), in_backward[Arg::kDy] = whole.dy.data();
  in_backward[Arg::kDw] = whole.dw.data(), in_backward[Arg::kDb] = whole.db.data();
  in_backward[Arg::kX] = whole.x.data(), in_backward[Arg::kW] = whole.w.data();
  in_backward[Arg::kMean] = whole.mean.data(), in_backward[Arg::kRstd] = whole.rstd.data();
  must(make_plan(backward, &plan));
  workspace.resize(plan.workspace_bytes());
  must(run(plan, in_backward, workspace.data(), workspace.size()));
}

static Options read(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--f32-sums") {
      out.f32_sums = true;
    } else if (option == "--rank-order") {
      out.rank_order = true;
    } else if (option == "--dies") {
      out.dies = true;
    } else if (option == "--rotate" && *value != '\0') {
      out.rotate = std::atoi(value), ++i;
    } else if (option == "--rows" && *value != '\0') {
      out.rows.clear(), ++i;
      for (const char* c = value; c != nullptr; c = std::strchr(c, ',')) {
        c += *c == ',';
        out.rows.push_back(std::max(0, std::atoi(c)));
      }
    } else {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  return out;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Options options = read(argc, argv);
  int process = 0, rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, 0, (process + options.rotate) % ranks, &comm);
  MPI_Comm_rank(comm, &rank);
  // So that a failure of MPI is an answer of all_gather or all_reduce, and then of run().
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);

  std::size_t all_rows = 0, first_row = 0, rows = 0;
  for (int r = 0; r < ranks; ++r) {
    const int count = options.rows[static_cast<std::size_t>(r) % options.rows.size()];
    if (r < rank) first_row += static_cast<std::size_t>(count);
    if (r == rank) rows = static_cast<std::size_t>(count);
    all_rows += static_cast<std::size_t>(count);
  }
  Batch whole = some_batch(all_rows);
  Batch part(rows);
  const std::size_t first = first_row * kRow;
  std::copy_n(whole.x.data() + first, part.x.size(), part.x.data());
  std::copy_n(whole.dy.data() + first, part.dy.size(), part.dy.data());
  part.w = whole.w, part.b = whole.b;

  sync_batch_norm(part, options, rank, ranks, comm);
  batch_norm(whole);

  std::uint64_t hash = 0xcbf29ce484222325u;
  add_to(hash, part.y), add_to(hash, part.mean), add_to(hash, part.rstd);
  add_to(hash, part.dx), add_to(hash, part.dw), add_to(hash, part.db);

  // dw and db are those of the part: ranks add them up as they do any parameter's gradient.
  for (Doubles* gradient : {&part.dw, &part.db}) {
    MPI_Allreduce(MPI_IN_PLACE, gradient->data(), kChannels, MPI_DOUBLE, MPI_SUM, comm);
  }
  const ExactBatch exact = formulas(whole);
  const double gradients =
      std::max(error(part.dw, exact.dw, 0, 0x1p-20), error(part.db, exact.db, 0, 0x1p-20));
  const double of_part =
      std::max(gradients, error(part, exact, first, 0x1p-19 + (options.f32_sums ? 0x1p-22 : 0)));
  const double of_whole = error(whole, exact, 0, 0x1p-19);
  const bool right = of_part <= 1 && of_whole <= 1;
  std::printf(
      "rank %d of %d: %zu of %zu rows: %s: error %.4f of what is allowed (BatchNorm of the whole "
      "batch: %.4f), hash %016llx\n",
      rank, ranks, rows, all_rows, right ? "right" : "WRONG", of_part, of_whole,
      static_cast<unsigned long long>(hash));
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return right ? 0 : 1;
}
