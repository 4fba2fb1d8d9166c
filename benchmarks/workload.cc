#include "workload.h"

#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "normgrad/last_error.h"

namespace bench {
namespace {

struct Format {
  const char* name;
  std::size_t bytes;
  double ulp_of_1, least_normal;
  double t_factor;  // 2^-k of expect()
};

const Format& format(DataType dtype) {
  static constexpr Format kF32{"f32", 4, 0x1p-23, 0x1p-126, 0x1p7};
  static constexpr Format kF16{"f16", 2, 0x1p-10, 0x1p-14, 0x1p-6};
  static constexpr Format kBF16{"bf16", 2, 0x1p-7, 0x1p-126, 0x1p-9};
  return dtype == DataType::kF32 ? kF32 : dtype == DataType::kF16 ? kF16 : kBF16;
}

// Values to compute with may be any: rounds towards zero, subnormal f16 to zero.
std::uint16_t truncate_to_16_bits(DataType dtype, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  if (dtype == DataType::kBF16) return static_cast<std::uint16_t>(bits >> 16);
  if (std::abs(value) < 0x1p-14f) return static_cast<std::uint16_t>(sign);
  const std::uint32_t exponent_and_fraction = ((bits & 0x7fffffff) - (112u << 23)) >> 13;
  return static_cast<std::uint16_t>(sign | exponent_and_fraction);
}

double decode_f16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                           : exponent == 31 ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                                            : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

const std::vector<double>& f16_values() {
  static const std::vector<double> values = [] {
    std::vector<double> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = decode_f16(static_cast<std::uint16_t>(i));
    return all;
  }();
  return values;
}

// 2^floor(log2(value)) of a value that is positive and normal.
double power_of_two_below(double value) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & 0x7ff0000000000000u);
}

double ulp(const Format& f, double magnitude) {
  return power_of_two_below(std::max(magnitude, f.least_normal)) * f.ulp_of_1;
}

// How often the kernel has taken a processor away from a thread of ours that wanted to go on.
long preemptions() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

// Microseconds of one call, called for at least a millisecond; the clock is read after every
// `batch` calls. The first call is not timed: what ran before may have left the caches in another
// state (non-temporal stores empty them) than a caller in a loop finds them in.
template <class Body>
Sample time_once(int batch, Body&& body) {
  using Clock = std::chrono::steady_clock;
  body();
  const long before = preemptions();
  const Clock::time_point start = Clock::now();
  std::chrono::duration<double, std::micro> time{};
  int calls = 0;
  for (; time < std::chrono::milliseconds(1); calls += batch) {
    for (int i = 0; i < batch; ++i) body();
    time = Clock::now() - start;
  }
  return {time.count() / calls, preemptions() != before};
}

// Tries again while other programs disturb. Who has slept is more likely to be left alone.
template <class Body>
Sample time_undisturbed(int batch, Body&& body) {
  constexpr int kAttempts = 4;
  Sample sample = time_once(batch, body);
  for (int i = 1; i < kAttempts && sample.disturbed; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2 * i));
    sample = time_once(batch, body);
  }
  return sample;
}

// Of the undisturbed samples if there are enough of them, else of all.
Sample median(const std::vector<Sample>& samples) {
  std::vector<double> quiet, all;
  for (const Sample& sample : samples) {
    all.push_back(sample.us);
    if (!sample.disturbed) quiet.push_back(sample.us);
  }
  const bool disturbed = quiet.size() < Rounds::kLeast;
  std::vector<double>& values = disturbed ? all : quiet;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return {*middle, disturbed};
}

}  // namespace

const char* name(DataType dtype) { return format(dtype).name; }

const char* name(Layout layout) {
  switch (layout) {
    case Layout::kRowMajor:
      return "row_major";
    case Layout::kChannelsLast:
      return "channels_last";
    case Layout::kPadded:
      return "padded";
    case Layout::kPermuted:
      return "permuted";
  }
  return "";
}

std::string Entry::title() const {
  const std::string suffix =
      layout == Layout::kRowMajor ? "" : std::string("_") + bench::name(layout);
  return op + suffix + "/" + shape;
}

void fail(const std::string& message) {
  std::fprintf(stderr, "\nnormgrad_bench: %s\n", message.c_str());
  std::exit(1);
}

void must(normgrad::Status status) {
  if (status != normgrad::Status::kOk) fail(normgradGetLastError());
}

Array::Array(DataType dtype, std::int64_t count, std::int64_t storage)
    : dtype_(dtype),
      storage_(storage),
      size_(static_cast<std::size_t>(count) * format(dtype).bytes) {
  const std::size_t bytes = static_cast<std::size_t>(storage) * format(dtype).bytes;
  const std::size_t whole_lines = (bytes / 64 + 1) * 64;  // one even for no elements
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, whole_lines)));
  if (memory_ == nullptr) fail("out of memory: " + std::to_string(bytes) + " bytes");
  std::memset(memory_.get(), 0, whole_lines);
}

void Array::Free::operator()(std::byte* p) const { std::free(p); }

void Array::fill(double low, double high) {
  static std::uint64_t state = 1;
  for (std::int64_t i = 0; i < storage_; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double unit = static_cast<double>(state >> 40) * 0x1p-24;
    const auto value = static_cast<float>(low + (high - low) * unit);
    if (dtype_ == DataType::kF32) {
      reinterpret_cast<float*>(memory_.get())[i] = value;
    } else {
      reinterpret_cast<std::uint16_t*>(memory_.get())[i] = truncate_to_16_bits(dtype_, value);
    }
  }
}

double Array::operator[](std::int64_t i) const {
  if (dtype_ == DataType::kF32) return reinterpret_cast<const float*>(memory_.get())[i];
  const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(memory_.get())[i];
  if (dtype_ == DataType::kF16) return f16_values()[bits];
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

normgrad::Tensor tensor(DataType dtype, const std::vector<std::int64_t>& shape, const char* name) {
  normgrad::Tensor t;
  t.dtype = dtype;
  t.rank = static_cast<int>(shape.size());
  t.name = name;
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    t.shape[d] = shape[d];
    t.strides[d] = stride;
  }
  return t;
}

void expect(const Array& out, std::int64_t i, double exact, double t, const char* what) {
  const Format& f = format(out.dtype());
  const double tolerance = ulp(f, std::max(std::abs(exact), t * f.t_factor));
  if (std::abs(out[i] - exact) <= tolerance) return;
  char text[160];
  std::snprintf(text, sizeof(text), "%s[%lld] is %.9g, the formula gives %.9g +- %.2g", what,
                static_cast<long long>(i), out[i], exact, tolerance);
  fail(text);
}

Rounds::Rounds(Workload& workload, Workload* twin, int limit_threads)
    : traffic_(workload.traffic()) {
  const auto limit = [=, this](int passes, Stores stores) {
    return Contender{[=, this] {
      if (passes == 2) read_inputs(traffic_, limit_threads);
      move_bytes(traffic_, stores, limit_threads);
    }};
  };
  const bool stores = traffic_.out.size > 0, two_passes = workload.takes_two_passes();
  plain_ = limit(1, Stores::kPlain);
  if (stores) non_temporal_ = limit(1, Stores::kNonTemporal);
  if (two_passes) two_pass_plain_ = limit(2, Stores::kPlain);
  if (two_passes) two_pass_non_temporal_ = limit(2, Stores::kNonTemporal);
  if (twin != nullptr) twin_.run = [=] { twin->run(); };
  ours_.run = [&] { workload.run(); };

  constexpr double kBatchUs = 20;  // beside which reading the clock takes no time
  batch_ = static_cast<int>(std::ceil(kBatchUs / time_undisturbed(1, plain_.run).us));
}

double Rounds::next() {
  for (Contender* each :
       {&plain_, &non_temporal_, &two_pass_plain_, &two_pass_non_temporal_, &twin_, &ours_}) {
    if (each->run) each->samples.push_back(time_undisturbed(batch_, each->run));
  }
  return ours_.samples.back().us * 1e-6;
}

Timing Rounds::medians() const {
  Timing timing;
  const auto us = [&](const Contender& of, double otherwise) {
    if (!of.run) return otherwise;
    const Sample middle = median(of.samples);
    timing.disturbed |= middle.disturbed;
    return middle.us;
  };
  const double plain = us(plain_, 0), non_temporal = us(non_temporal_, plain);
  timing.limit_us = std::min(plain, non_temporal);
  timing.limit_stores = !non_temporal_.run      ? Stores::kNone
                        : plain <= non_temporal ? Stores::kPlain
                                                : Stores::kNonTemporal;
  timing.two_pass_limit_us = std::min(us(two_pass_plain_, 0), us(two_pass_non_temporal_, 0));
  timing.twin_us = us(twin_, 0);
  timing.ours_us = us(ours_, 0);
  timing.bytes = static_cast<double>(traffic_.bytes());
  return timing;
}

std::string join(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(extent);
  }
  return text;
}

}  // namespace bench
