// One number per channel: reading parameters, writing results, the few formulas between them.
#ifndef NORMGRAD_OPS_CHANNEL_NORM_PARAMETERS_H
#define NORMGRAD_OPS_CHANNEL_NORM_PARAMETERS_H

#include <algorithm>
#include <type_traits>

#include "kernels/element.h"
#include "ops/channel_norm/channel_norm.h"
#include "ops/plan.h"
#include "ops/statistics.h"

namespace normgrad {

class Parameters {
 public:
  Parameters(const PlanBody& plan, void* const* data) : plan_(plan), data_(data) {}

  bool has(Arg arg) const { return plan_.tensor(arg).present(); }
  double load(Arg arg, std::int64_t channel, double absent) const {
    const Tensor& tensor = plan_.tensor(arg);
    if (!tensor.present()) return absent;
    if (tensor.dtype == DataType::kF32) {  // the usual one, with no call
      return kernels::read(static_cast<const float*>(data_[index_of(arg)]) +
                           channel * tensor.strides[0]);
    }
    return kernels::load_element(data_[index_of(arg)], tensor.dtype, channel * tensor.strides[0]);
  }
  // Those of a tile: numbers, no counts, which may be i32.
  void load(Arg arg, ChannelTile tile, double absent, double* to) const {
    const Tensor& tensor = plan_.tensor(arg);
    if (!tensor.present()) {
      std::fill_n(to, tile.count, absent);
      return;
    }
    kernels::with_element_type(tensor.dtype, [&](auto* type) {
      const auto* from = static_cast<decltype(type)>(data_[index_of(arg)]);
      each_place(tensor, tile, [&](std::int64_t i, std::int64_t at) {
        to[i] = kernels::to_double(kernels::read(from + at));
      });
    });
  }
  void store(Arg arg, std::int64_t channel, double value) const {
    const Tensor& tensor = plan_.tensor(arg);
    if (!tensor.present()) return;
    if (tensor.dtype == DataType::kF32) {
      kernels::write(static_cast<float*>(data_[index_of(arg)]) + channel * tensor.strides[0],
                     static_cast<float>(value));
      return;
    }
    kernels::store_element(data_[index_of(arg)], tensor.dtype, channel * tensor.strides[0], value);
  }
  void store(Arg arg, ChannelTile tile, const double* values) const {
    const Tensor& tensor = plan_.tensor(arg);
    if (!tensor.present()) return;
    kernels::with_element_type(tensor.dtype, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      T* to = static_cast<T*>(data_[index_of(arg)]);
      each_place(tensor, tile, [&](std::int64_t i, std::int64_t at) {
        kernels::write(to + at, kernels::round_to<T>(values[i]));
      });
    });
  }

  // 1/sqrt(var + eps), or what is given instead, or 1.
  void load_rstd(Arg rstd_arg, Arg var_arg, ChannelTile tile, double* to) const {
    if (!has(var_arg)) return load(rstd_arg, tile, 1, to);
    load(var_arg, tile, 0, to);
    for (std::int64_t i = 0; i < tile.count; ++i) to[i] = rstd_of(to[i], plan_.eps);
  }

 private:
  // body(channel of the tile, where its element lies); those side by side in a loop of their own, which compilers make
  // vectors of.
  template <class Body>
  static void each_place(const Tensor& tensor, ChannelTile tile, Body&& body) {
    const std::int64_t stride = tensor.strides[0];
    if (stride == 1) {
      for (std::int64_t i = 0; i < tile.count; ++i) body(i, tile.first + i);
    } else {
      for (std::int64_t i = 0; i < tile.count; ++i) body(i, (tile.first + i) * stride);
    }
  }

  const PlanBody& plan_;
  void* const* data_;
};

}  // namespace normgrad

#endif
