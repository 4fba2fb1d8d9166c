// What every workload is made of: arrays, a plan, a check against the plain formula, and rounds
// that time it beside its limit.
#ifndef NORMGRAD_BENCHMARKS_WORKLOAD_H
#define NORMGRAD_BENCHMARKS_WORKLOAD_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "limit.h"
#include "normgrad/plan.h"

namespace bench {

using normgrad::Arg;
using normgrad::DataType;

inline constexpr DataType kTypes[] = {DataType::kF32, DataType::kBF16, DataType::kF16};
const char* name(DataType dtype);

// Of the big tensors, in memory. Padded: row-major with kPadding elements between rows or channels,
// as a slice of a larger tensor has. Permuted: the two dims of the rows in the other order.
enum class Layout { kRowMajor, kChannelsLast, kPadded, kPermuted };
inline constexpr std::int64_t kPadding = 64;
const char* name(Layout layout);

// The memory of one tensor: aligned to 64 bytes, every page touched.
class Array {
 public:
  Array(DataType dtype, std::int64_t count) : Array(dtype, count, count) {}
  Array(DataType dtype, std::int64_t count, std::int64_t storage);  // with padding between elements

  // Random numbers of [low, high); other ones in every array.
  void fill(double low, double high);
  double operator[](std::int64_t i) const;
  DataType dtype() const { return dtype_; }
  void* data() const { return memory_.get(); }
  Bytes bytes() const { return {memory_.get(), size_}; }  // as many as the elements have

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  DataType dtype_;
  std::int64_t storage_;
  std::size_t size_;
  std::unique_ptr<std::byte[], Free> memory_;
};

// A row-major tensor of this shape.
normgrad::Tensor tensor(DataType dtype, const std::vector<std::int64_t>& shape, const char* name);

// An operator on data: what is timed, and how it is known to be right.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual void run() = 0;          // as often as one likes
  virtual void check() const = 0;  // after a run: every element of every output, by expect()
  virtual Traffic traffic() const = 0;
  // Can no cache hold what is needed twice, once the tensors are beyond it?
  virtual bool takes_two_passes() const { return false; }
};

// Ends the program unless out[i] is `exact` within the tolerance. T is the sum of the magnitudes
// that were added up to `exact`, as docs/architecture.md defines it for every output.
//
// Ours is within ulp/2 + c*T of the exact result, with c at most 2^-19. The formulas here are evaluated in f64, in sums of
// at most 10^5 terms in sequence: within 10^5*2^-53*T, and c + 10^5*2^-53 < 2^-18. ulp(v) > v*2^-p, with p = 24, 11, 8 bits
// for f32, f16, bf16, so that much of T is less than half an ulp of T*2^-k if k = 18 - 25 = -7 for f32, 18 - 12 = 6 for f16,
// 18 - 9 = 9 for bf16. Together: one ulp of the larger of |exact| and T*2^-k.
void expect(const Array& out, std::int64_t i, double exact, double t, const char* what);

// Ends the program with this message.
[[noreturn]] void fail(const std::string& message);
void must(normgrad::Status status);  // kOk, or fail with the library's own sentence

struct Entry {
  std::string op;  // layer_norm
  Layout layout;
  std::string shape;  // 8192x768
  DataType dtype;
  std::int64_t elements;  // of a big tensor
  std::function<std::unique_ptr<Workload>()> make;
  std::function<std::unique_ptr<Workload>()> make_twin;  // of a padded one: row-major; else empty

  std::string title() const;  // batch_norm_training_channels_last/32x64x56x56
  std::string name() const { return title() + "/" + bench::name(dtype); }
};

struct Timing {
  double limit_us = 0, ours_us = 0;
  double two_pass_limit_us = 0, twin_us = 0;  // 0: not measured
  Stores limit_stores = Stores::kPlain;       // which were faster
  double bytes = 0;
  bool disturbed = false;  // by other programs, in too many rounds

  double fraction() const { return limit_us / ours_us; }
};

// What one measurement of a round gave.
struct Sample {
  double us = 0;
  bool disturbed = false;  // the kernel took a processor away from us meanwhile
};

// Times a workload in rounds: its limits, its twin if there is one, ours. The machine is shared, so
// that only neighbours in time can be compared.
class Rounds {
 public:
  static constexpr std::size_t kLeast = 7;  // a median is taken of at least so many

  // limit_threads: those of the limit. Ours takes as many as the library is set to.
  Rounds(Workload& workload, Workload* twin, int limit_threads);
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;
  double next();  // one round; seconds of ours
  Timing medians() const;

 private:
  struct Contender {
    std::function<void()> run;  // empty: takes no part
    std::vector<Sample> samples = {};
  };

  Traffic traffic_;
  int batch_ = 1;  // calls between two looks at the clock
  Contender plain_, non_temporal_, two_pass_plain_, two_pass_non_temporal_, twin_, ours_;
};

// 8192x768
std::string join(const std::vector<std::int64_t>& shape);

// What there is to measure: the shapes of real models; one shape that grows from 10^4 to 10^8
// elements; one shape in cache, whose instructions are counted (instructions.py).
enum class Set { kWorkloads, kScaling, kCounted };

void add_layer_norm_backward(std::vector<Entry>& entries, Set set);
void add_rms_norm_backward(std::vector<Entry>& entries, Set set);
void add_batch_norm_backward(std::vector<Entry>& entries, Set set);
void add_batch_norm_elemt_backward(std::vector<Entry>& entries);
void add_batch_norm(std::vector<Entry>& entries);

}  // namespace bench

#endif
