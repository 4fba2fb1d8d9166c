#include "rows.h"

#include <utility>

namespace bench {

Rows::Rows(std::vector<std::int64_t> dims, std::int64_t width, Layout where)
    : leading(std::move(dims)), layout(where), rows(1), columns(width) {
  for (const std::int64_t extent : leading) rows *= extent;
  const std::int64_t stride = layout == Layout::kPadded ? columns + kPadding : columns;
  const bool permuted = layout == Layout::kPermuted;
  inner_stride = permuted ? leading.front() * stride : stride;
  outer_stride = permuted ? stride : leading.back() * stride;
  storage = rows * stride;
}

normgrad::Tensor Rows::tensor(DataType dtype, const char* name) const {
  std::vector<std::int64_t> shape = leading;
  shape.push_back(columns);
  normgrad::Tensor t = bench::tensor(dtype, shape, name);
  t.strides[0] = outer_stride;
  t.strides[leading.size() - 1] = inner_stride;
  return t;
}

normgrad::Tensor Rows::row_tensor(DataType dtype, const char* name) const {
  return bench::tensor(dtype, leading, name);
}

std::vector<Rows> all_rows(Set set) {
  std::vector<Rows> all;
  if (set == Set::kScaling) {
    for (const std::int64_t rows : {10, 32, 100, 320, 1000, 3200, 10000, 32000, 100000})
      all.push_back({{rows}, 1024, Layout::kRowMajor});
    return all;
  }
  if (set == Set::kCounted) return {Rows({256}, 768, Layout::kRowMajor)};
  const std::vector<std::int64_t> shapes[] = {{8192, 768}, {4096, 1024}, {2048, 4096},
                                              {512, 8192}, {65536, 64},  {64, 65536},
                                              {16, 768},   {64, 768},    {4097, 1000}};
  for (const auto& s : shapes) all.push_back({{s[0]}, s[1], Layout::kRowMajor});
  all.push_back({{8192}, 768, Layout::kPadded});
  all.push_back({{2048}, 4096, Layout::kPadded});
  return all;
}

}  // namespace bench
