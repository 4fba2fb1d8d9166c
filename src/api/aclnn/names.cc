// What messages call data types and formats: their names without ACL_ or ACL_FORMAT_.
#include <algorithm>
#include <iterator>

#include "api/aclnn/checks.h"

namespace normgrad::api {
namespace {

struct Name {
  int number;
  const char* text;
};

constexpr Name kDataTypes[] = {
    {-1, "undefined"},   {0, "FLOAT"},        {1, "FLOAT16"},        {2, "INT8"},
    {3, "INT32"},        {4, "UINT8"},        {6, "INT16"},          {7, "UINT16"},
    {8, "UINT32"},       {9, "INT64"},        {10, "UINT64"},        {11, "DOUBLE"},
    {12, "BOOL"},        {13, "STRING"},      {16, "COMPLEX64"},     {17, "COMPLEX128"},
    {27, "BF16"},        {29, "INT4"},        {30, "UINT1"},         {33, "COMPLEX32"},
    {34, "HIFLOAT8"},    {35, "FLOAT8_E5M2"}, {36, "FLOAT8_E4M3FN"}, {37, "FLOAT8_E8M0"},
    {38, "FLOAT6_E3M2"}, {39, "FLOAT6_E2M3"}, {40, "FLOAT4_E2M1"},   {41, "FLOAT4_E1M2"}};

constexpr Name kFormats[] = {{-1, "undefined"},
                             {0, "NCHW"},
                             {1, "NHWC"},
                             {2, "ND"},
                             {3, "NC1HWC0"},
                             {4, "FRACTAL_Z"},
                             {12, "NC1HWC0_C04"},
                             {16, "HWCN"},
                             {27, "NDHWC"},
                             {29, "FRACTAL_NZ"},
                             {30, "NCDHW"},
                             {32, "NDC1HWC0"},
                             {33, "FRACTAL_Z_3D"},
                             {35, "NC"},
                             {47, "NCL"},
                             {50, "FRACTAL_NZ_C0_16"},
                             {51, "FRACTAL_NZ_C0_32"},
                             {52, "FRACTAL_NZ_C0_2"},
                             {53, "FRACTAL_NZ_C0_4"},
                             {54, "FRACTAL_NZ_C0_8"}};

const char* find(std::span<const Name> names, int number) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [=](const Name& name) { return name.number == number; });
  return found == names.end() ? "unknown" : found->text;
}

}  // namespace

const char* name_of(aclDataType dtype) { return find(kDataTypes, static_cast<int>(dtype)); }
const char* name_of(aclFormat format) { return find(kFormats, static_cast<int>(format)); }

}  // namespace normgrad::api
