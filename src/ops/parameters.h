// Numbers per channel, of any type: parameters and statistics in, results out.
#ifndef NORMGRAD_OPS_PARAMETERS_H
#define NORMGRAD_OPS_PARAMETERS_H

#include <algorithm>
#include <type_traits>

#include "kernels/element.h"
#include "ops/plan.h"

namespace normgrad {

// Where an operator has no such argument.
inline constexpr int kNoArgument = -1;

class Parameters {
 public:
  Parameters(const PlanBody& plan, void* const* data) : plan_(plan), data_(data) {}

  bool has(int argument) const {
    return argument != kNoArgument && plan_.argument[argument].tensor.present();
  }
  // Of channels [begin, end). The type, which is no i32 here, is asked for once.
  void load(int argument, std::int64_t begin, std::int64_t end, double absent, double* to) const {
    if (!has(argument)) {
      std::fill_n(to, end - begin, absent);
      return;
    }
    const Tensor& tensor = plan_.argument[argument].tensor;
    const std::int64_t stride = tensor.strides[0];
    kernels::with_element_type(tensor.dtype, [&](auto* type) {
      const auto* from = static_cast<decltype(type)>(data_[argument]) + begin * stride;
      for (std::int64_t i = 0; i < end - begin; ++i) {
        to[i] = kernels::to_double(kernels::read(from + i * stride));
      }
    });
  }
  void store(int argument, std::int64_t begin, std::int64_t end, const double* from) const {
    if (!has(argument)) return;
    const Tensor& tensor = plan_.argument[argument].tensor;
    const std::int64_t stride = tensor.strides[0];
    kernels::with_element_type(tensor.dtype, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      T* to = static_cast<T*>(data_[argument]) + begin * stride;
      for (std::int64_t i = 0; i < end - begin; ++i) {
        kernels::write(to + i * stride, kernels::round_to<T>(from[i]));
      }
    });
  }
  double load(Arg arg, std::int64_t channel) const {
    double value;
    load(index_of(arg), channel, channel + 1, 0, &value);
    return value;
  }
  void store(Arg arg, std::int64_t channel, double value) const {
    store(index_of(arg), channel, channel + 1, &value);
  }

 private:
  const PlanBody& plan_;
  void* const* data_;
};

}  // namespace normgrad

#endif
