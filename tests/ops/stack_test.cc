// No call takes more than 32 KiB of stack: neither its plan nor its run, whatever the arithmetic, layout and length. Of
// single functions tests/hygiene/frames_test.py knows more.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "normgrad/settings.h"
#include "ops/examples.h"
#include "ops/layouts.h"
#include "ops/library.h"
#include "ops/operators.h"
#include "ops/storage.h"

namespace ops_test {
namespace {

constexpr std::size_t kMostBytes = 32 * 1024, kStackBytes = 512 * 1024;
constexpr std::uint8_t kPaint = 0xA5;

// Runs a function on a painted stack and sees how far down the paint is gone.
class PaintedStack {
 public:
  std::size_t bytes_used(const std::function<void()>& function) {
    function_ = &function;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, begin(), kStackBytes);
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, &attributes, &PaintedStack::enter, this), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    const std::uint8_t* deepest =
        std::find_if(begin(), top_, [](std::uint8_t byte) { return byte != kPaint; });
    return static_cast<std::size_t>(top_ - deepest);
  }

 private:
  static void* enter(void* self) {
    static_cast<PaintedStack*>(self)->paint_and_call();
    return nullptr;
  }
  // Below its own frame, byte by byte so that no call disturbs the paint.
  [[gnu::noinline]] void paint_and_call() {
    volatile std::uint8_t* here = static_cast<std::uint8_t*>(__builtin_frame_address(0));
    top_ = const_cast<std::uint8_t*>(here) - 256;
    for (volatile std::uint8_t* p = begin(); p < top_; ++p) *p = kPaint;
    (*function_)();
  }
  std::uint8_t* begin() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return reinterpret_cast<std::uint8_t*>((address + 4095) / 4096 * 4096);
  }

  std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(kStackBytes + 4096);
  std::uint8_t* top_ = nullptr;
  const std::function<void()>* function_ = nullptr;
};

struct Case {
  Form form;
  std::vector<std::int64_t> shape;
};
std::vector<Case> cases() {
  std::vector<Case> out;
  for (const Form form : {Form::kLayerNormOfXHat, Form::kLayerNormOfX, Form::kRmsNorm,
                          Form::kRmsNormOfRstd, Form::kLayerNormForward, Form::kRmsNormForward}) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{20, 70}, {3, 5, 700}, {40, 9000}, {3, 20000}}) {
      out.push_back({form, shape});
    }
  }
  for (const Form form : {Form::kBatchNormTraining, Form::kBatchNormInference, Form::kBatchNormSums,
                          Form::kElemtBackward, Form::kForwardTraining, Form::kForwardGiven}) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{5, 40, 60}, {3, 3, 5000}, {70, 90}, {20, 3, 7, 9}}) {
      out.push_back({form, shape});
    }
  }
  return out;
}

void expect_small(PaintedStack& stack, const Problem& problem) {
  normgrad::Plan plan;
  normgrad::Status made = normgrad::Status::kInternal, ran = made;
  const std::size_t planning = stack.bytes_used([&] { made = make_plan(problem, &plan); });
  ASSERT_EQ(made, normgrad::Status::kOk) << title(problem);
  EXPECT_LE(planning, kMostBytes) << title(problem);
  std::vector<std::unique_ptr<Storage>> storages(kSlotCount);
  Pointers data{};
  for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
    if (!problem.has(Slot(slot))) continue;
    storages[slot] = std::make_unique<Storage>(problem.tensor[slot]);
    if (is_input(Slot(slot))) storages[slot]->write(problem.value[slot]);
    data[slot] = storages[slot]->data();
  }
  std::vector<std::byte> workspace(plan.workspace_bytes());
  const std::size_t running =
      stack.bytes_used([&] { ran = run(problem, plan, data, workspace.data()); });
  ASSERT_EQ(ran, normgrad::Status::kOk) << title(problem);
  EXPECT_LE(running, kMostBytes) << title(problem);
}

void expect_small_in_both_arithmetics_and_caches(PaintedStack& stack, const Problem& problem) {
  for (const Arithmetic arithmetic : kArithmetics) {
    normgrad::set_arithmetic(arithmetic);
    for (const std::int64_t cache_bytes : {0, 4096}) {
      const OtherCache cache(cache_bytes);
      expect_small(stack, problem);
    }
  }
  normgrad::set_arithmetic(Arithmetic::kFast);
}

TEST(Stack, OfACallIsAtMost32KiB) {
  normgrad::set_threads(1);
  PaintedStack stack;
  for (const Format data : {Format::kF32, Format::kBF16, Format::kF16}) {
    for (const Case& of : cases()) {
      Problem problem = example(of.form, data, of.shape);
      problem.value[problem.big_input()][7] = NAN;  // exact kernels do that row or channel
      expect_small_in_both_arithmetics_and_caches(stack, problem);
      if (!is_batch_norm(of.form) || of.shape.size() == 2) continue;
      const Slot packed = problem.has(kY) ? kY : kX;  // or dy, that is
      problem.tensor[packed] = channels_last(data, of.shape, problem.channel_axis);
      expect_small_in_both_arithmetics_and_caches(stack, problem);
    }
  }
}

TEST(Stack, IsMeasured) {
  PaintedStack stack;
  const std::size_t used = stack.bytes_used([] {
    volatile std::uint8_t bytes[40 * 1024];
    for (volatile std::uint8_t& byte : bytes) byte = 1;
  });
  EXPECT_GT(used, std::size_t{39} * 1024);
  EXPECT_LT(used, std::size_t{42} * 1024);
}

}  // namespace
}  // namespace ops_test
