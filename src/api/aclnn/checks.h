// The table of the aclnn operators: what their document alone demands of an argument is a row, and each of its checks is
// written once. Shapes and overlap are the core's to check, in the same names (ops/check.h).
#ifndef NORMGRAD_API_ACLNN_CHECKS_H
#define NORMGRAD_API_ACLNN_CHECKS_H

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

#include "api/acl_status.h"
#include "api/aclnn/tensor.h"
#include "normgrad/problem.h"

// Leaves the function with a code that is not 0.
#define NORMGRAD_ACLNN_TRY(expression) \
  if (const int code_of_try = (expression); code_of_try != 0) return code_of_try

namespace normgrad::api {

enum class Form : std::uint8_t {
  kData,    // all dimensions
  kVector,  // one number per channel
  kRow,     // of row norms: what every row is scaled by or summed up to
  kPerRow,  // of row norms: one number per row
  // Of group norms: what may have another shape than the data, a channel's numbers, or those of groups.
  kLikeData,
  kPerChannel,
  kPerGroup,
  kOther
};
enum class Use : std::uint8_t { kIn, kOptional, kOut };  // kOptional: an input that may be null

inline constexpr int kNobody = -1;

// Which arguments a type or format must be like. Others are named by their number in the prototype, of which each operator has
// an enum.
struct Likeness {
  int float_or = kNobody;  // FLOAT, or the type of this one
  int type = kNobody;
  int format = kNobody;
};

// An argument of phase 1.
struct Row {
  const char* name;
  Arg arg;  // the formula's; kNone: it is looked at, but has no part in the computation
  Form form;
  Use use;
  Likeness like = {};
  bool is_counter = false;  // FLOAT, FLOAT16 or INT32; all others: FLOAT, FLOAT16 or BF16
  bool is_float = false;    // FLOAT alone
  Arg also = Arg::kNone;    // of an input that is written in place
};

// Five dimensions need a format that says which of them are the channels.
enum class RankFive : std::uint8_t { kAnyFormat, kOwnFormat, kOwnFormatOn950 };

struct Spec {
  const char* name;  // of phase 2
  Op op;
  int data;  // whose channels they are
  std::span<const Row> rows;
  RankFive rank_five = RankFive::kAnyFormat;
  bool channels_by_format = false;  // NHWC and NDHWC have them last, on 950; else axis 1
  bool needs_channels = false;      // 0 of them are refused
  int least_rank = 2;               // of data
  int shape_code = kAclnnInvalid;   // what shapes that do not fit are answered with
};

struct Operand {
  const Row* row;
  const aclTensor* tensor;  // null: left out, or not wanted
  Arg arg;                  // the row's, unless the call's attributes say otherwise
  bool required;
  bool given;  // the caller passed something

  const char* name() const { return row->name; }
  const aclTensor* operator->() const { return tensor; }
  explicit operator bool() const { return tensor != nullptr; }
  // Of an output that is not wanted, which is never looked at.
  void leave_out() { tensor = nullptr, required = false; }
};

inline constexpr int kMostOperands = 13;

// The tensors of one call, in the order of the prototype.
class Arguments {
 public:
  Arguments(const Spec& spec, std::span<const aclTensor* const> tensors);

  const Spec& spec() const { return *spec_; }
  Operand& operator[](int i) { return operands_[static_cast<std::size_t>(i)]; }
  const Operand& operator[](int i) const { return operands_[static_cast<std::size_t>(i)]; }
  const Operand* begin() const { return operands_.data(); }
  const Operand* end() const { return begin() + spec_->rows.size(); }

  const Operand& data() const { return (*this)[spec_->data]; }
  // Of data with at least 2 dimensions.
  int channel_axis() const;
  std::int64_t channels() const {
    return data()->shape[static_cast<std::uint64_t>(channel_axis())];
  }

 private:
  const Spec* spec_;
  std::array<Operand, kMostOperands> operands_;
};

// They return 0, or the code of a refusal and leave its sentence; what is left out is skipped. Null although required: 161001.
// Every other check answers 161002.
int check_not_null(const Arguments& arguments);
int check_alive(const Arguments& arguments);
int check_alive(const Operand& operand);
// Data types, and among each other unless they are `listed` alone; formats, ranks, views.
enum class Mixtures : std::uint8_t { kListed, kAny };
int check_types(const Arguments& arguments, Mixtures mixtures = Mixtures::kListed);
int check_formats(const Arguments& arguments);
int check_views(const Arguments& arguments);
int check_view(const Operand& operand, int least_rank = 2);  // its rank among them
inline int check_document(const Arguments& arguments) {
  NORMGRAD_ACLNN_TRY(check_types(arguments));
  NORMGRAD_ACLNN_TRY(check_formats(arguments));
  return check_views(arguments);
}

bool any_empty(const Arguments& arguments, std::initializer_list<int> which);

bool is_950();

// What messages call them.
const char* name_of(aclDataType dtype);
const char* name_of(aclFormat format);

}  // namespace normgrad::api

#endif
