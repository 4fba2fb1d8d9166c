// infiniopCreate...Descriptor: every way to get it wrong, for every argument of every operator.
#include <cmath>
#include <cstdint>
#include <functional>

#include "api/operators.h"
#include "normgrad/last_error.h"

namespace api_test {
namespace {

struct Call {
  infiniopHandle_t handle;
  std::vector<TensorSpec> specs;
  // Gives what is passed instead of a descriptor of specs[i], once those are made: the address of a
  // dead one must not come to life again as one of them.
  std::vector<std::function<infiniopTensorDescriptor_t()>> replaced;
};

struct Provocation {
  std::string what;
  infiniStatus_t code;
  std::string argument;  // that the sentence must name
  std::function<void(Call&)> spoil;
};

infiniopTensorDescriptor_t dead_descriptor() {
  infiniopTensorDescriptor_t dead = nullptr;
  EXPECT_EQ(infiniopCreateTensorDescriptor(&dead, 0, nullptr, nullptr, INFINI_DTYPE_F32),
            INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infiniopDestroyTensorDescriptor(dead), INFINI_STATUS_SUCCESS);
  return dead;
}

const std::vector<std::size_t> kShape{3, 4, 5};

class Provocations {
 public:
  explicit Provocations(const Operator& op) : op_(op) {
    for (std::size_t i = 0; i < op.arguments.size(); ++i) {
      pointers(i);
      dtypes(i);
      shapes(i);
      strides(i);
    }
    handles();
    order();
  }
  const std::vector<Provocation>& all() const { return all_; }

 private:
  using Spec = std::function<void(TensorSpec&)>;

  void add(const std::string& what, infiniStatus_t code, const std::string& argument,
           std::function<void(Call&)> spoil) {
    all_.push_back({op_.name + ": " + what, code, argument, std::move(spoil)});
  }
  void add(std::size_t i, const std::string& what, infiniStatus_t code, Spec spoil) {
    const std::string name = op_.arguments[i].name;
    add(name + ' ' + what, code, name, [i, spoil](Call& call) { spoil(call.specs[i]); });
  }
  void replace(std::size_t i, const std::string& what, std::function<void*(Call&)> other) {
    const std::string name = op_.arguments[i].name;
    add(name + ' ' + what, INFINI_STATUS_BAD_PARAM, name, [i, other](Call& call) {
      call.replaced[i] = [&call, other] {
        return static_cast<infiniopTensorDescriptor_t>(other(call));
      };
    });
  }

  void pointers(std::size_t i) {
    static char foreign[2048];
    if (!op_.arguments[i].optional) replace(i, "null", [](Call&) { return nullptr; });
    replace(i, "dead", [](Call&) { return dead_descriptor(); });
    replace(i, "foreign", [](Call&) { return foreign; });
    replace(i, "no address at all", [](Call&) { return sentinel<void>(); });
    replace(i, "a handle", [](Call& call) { return call.handle; });
  }

  void dtypes(std::size_t i) {
    const bool first = i == 0;
    for (const int dtype : {0, 1, 5, 11, 14, 18, 20, 99, -1}) {
      if (!first && dtype % 2 == 0)
        continue;  // the first decides; of the others it is enough to differ
      add(i, "dtype " + std::to_string(dtype), INFINI_STATUS_BAD_TENSOR_DTYPE,
          [dtype](TensorSpec& spec) { spec.dtype = static_cast<infiniDtype_t>(dtype); });
    }
    const bool may_differ = op_.takes_any_weights && op_.arguments[i].form == Form::kVector;
    for (const auto dtype : {INFINI_DTYPE_F16, INFINI_DTYPE_BF16}) {
      add(i, may_differ ? "of 16 bits beside F32" : "mixed dtypes", INFINI_STATUS_BAD_TENSOR_DTYPE,
          [dtype](TensorSpec& spec) { spec.dtype = dtype; });
      if (first) all_.back().argument = op_.arguments[1].name;  // now all others differ from it
    }
  }

  void shapes(std::size_t i) {
    const auto add_shape = [&](const std::string& what, Spec spoil) {
      add(i, what, INFINI_STATUS_BAD_TENSOR_SHAPE, std::move(spoil));
    };
    add_shape("one dimension more", [](TensorSpec& spec) {
      auto shape = spec.shape;
      shape.insert(shape.begin(), 2);
      spec = contiguous(shape);
    });
    add_shape("nine dimensions", [](TensorSpec& spec) {
      spec = contiguous({1, 1, 1, 1, 1, 1, 1, 1, spec.shape.back()});
    });
    add_shape("a scalar", [](TensorSpec& spec) { spec = contiguous({}); });
    for (std::size_t d = 0; d < (op_.arguments[i].form == Form::kVector ? 1u : 2u); ++d) {
      const std::string where = " in dimension " + std::to_string(d);
      add_shape("larger" + where, [d](TensorSpec& spec) {
        ++spec.shape[d];
        spec = contiguous(spec.shape);
      });
      add_shape("empty" + where, [d](TensorSpec& spec) { spec.shape[d] = 0; });
      add_shape("endless" + where, [d](TensorSpec& spec) { spec.shape[d] = SIZE_MAX; });
      add_shape("huge" + where, [d](TensorSpec& spec) { spec.shape[d] = INT64_MAX; });
    }
  }

  void strides(std::size_t i) {
    const Argument& argument = op_.arguments[i];
    const auto add_strides = [&](const std::string& what, std::size_t d, std::ptrdiff_t stride) {
      add(i, what, INFINI_STATUS_BAD_TENSOR_STRIDES,
          [d, stride](TensorSpec& spec) { spec.strides[d] = stride; });
    };
    if (argument.output) add_strides("stride 0", 0, 0);
    if (argument.form != Form::kData) return;
    if (argument.output) add_strides("rows that overlap", 1, 4);
    if (op_.layout == Layout::kAny) return;
    add_strides("last stride 2", 2, 2);
    add_strides("last stride 0", 2, 0);
    add_strides("last stride -1", 2, -1);
    if (op_.layout != Layout::kContiguous) return;
    add_strides("a gap between samples", 0, 21);
    add_strides("a gap between channels", 1, 6);
    add_strides("samples backwards", 0, -20);
    add(i, "channels last", INFINI_STATUS_BAD_TENSOR_STRIDES, [](TensorSpec& spec) {
      spec.strides = {20, 1, 4};
    });
  }

  void handles() {
    add("null handle", INFINI_STATUS_BAD_PARAM, "handle", [](Call& c) { c.handle = nullptr; });
    add("handle without address", INFINI_STATUS_BAD_PARAM, "handle",
        [](Call& call) { call.handle = sentinel<InfiniopHandle>(); });
    add("dead handle", INFINI_STATUS_BAD_PARAM, "handle", [](Call& call) {
      EXPECT_EQ(infiniopCreateHandle(&call.handle), INFINI_STATUS_SUCCESS);
      EXPECT_EQ(infiniopDestroyHandle(call.handle), INFINI_STATUS_SUCCESS);
    });
    add("a tensor descriptor as handle", INFINI_STATUS_BAD_PARAM, "handle", [](Call& call) {
      static TensorDescriptors tensor({contiguous({2})});
      call.handle = reinterpret_cast<infiniopHandle_t>(tensor[0]);
    });
  }

  // Pointers, then data types, then shapes, then strides: the first defect found decides.
  void order() {
    const std::string first = op_.arguments[0].name;
    std::size_t i = op_.arguments.size() - 1;
    while (op_.arguments[i].optional) --i;
    const std::string last = op_.arguments[i].name;
    add("null and a wrong dtype", INFINI_STATUS_BAD_PARAM, last, [i](Call& call) {
      call.replaced[i] = [] { return nullptr; };
      call.specs[0].dtype = INFINI_DTYPE_I8;
    });
    add("a wrong shape and a wrong dtype", INFINI_STATUS_BAD_TENSOR_DTYPE, last, [i](Call& call) {
      call.specs[0] = contiguous({2});
      call.specs[i].dtype = INFINI_DTYPE_I8;
    });
    add("nine dimensions and a wrong dtype", INFINI_STATUS_BAD_TENSOR_DTYPE, last, [i](Call& call) {
      call.specs[0] = contiguous({1, 1, 1, 1, 1, 1, 1, 1, 1});
      call.specs[i].dtype = INFINI_DTYPE_F64;
    });
    add("a wrong last stride and a wrong shape", INFINI_STATUS_BAD_TENSOR_SHAPE, last,
        [i](Call& call) {
          call.specs[0].strides.back() = 2;
          call.specs[i] = contiguous({7});
        });
    add("a stride of 0 and a wrong shape", INFINI_STATUS_BAD_TENSOR_SHAPE, last, [i](Call& call) {
      call.specs[0].strides[0] = 0;
      call.specs[i] = contiguous({7});
    });
  }

  const Operator& op_;
  std::vector<Provocation> all_;
};

void provoke(const Operator& op, const Provocation& provocation) {
  SCOPED_TRACE(provocation.what);
  const Handle handle;
  Call call{handle.get(), specs_for(op, kShape), {}};
  call.replaced.resize(call.specs.size());
  provocation.spoil(call);
  TensorDescriptors tensors(call.specs);
  for (std::size_t i = 0; i < call.specs.size(); ++i) {
    if (call.replaced[i]) tensors[i] = call.replaced[i]();
  }
  auto* descriptor = sentinel<InfiniopDescriptor>();
  EXPECT_TRUE(fails_with(provocation.code, op.create(call.handle, &descriptor, tensors.data()),
                         op.create_name(), provocation.argument));
  EXPECT_EQ(descriptor, sentinel<InfiniopDescriptor>()) << "*desc_ptr was written";
}

TEST(OperatorCreate, EveryProvocationIsAnsweredWithItsCodeAndASentence) {
  std::size_t count = 0;
  for (const Operator* op : operators()) {
    const Provocations provocations(*op);
    for (const Provocation& provocation : provocations.all()) provoke(*op, provocation);
    count += provocations.all().size();
  }
  RecordProperty("provocations", static_cast<int>(count));
  EXPECT_GE(count, 400u);
}

TEST(OperatorCreate, NullDescPtrIsBadParam) {
  for (const Operator* op : operators()) {
    const Handle handle;
    TensorDescriptors tensors(specs_for(*op, kShape));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM,
                           op->create(handle.get(), nullptr, tensors.data()), op->create_name(),
                           "desc_ptr"));
  }
}

TEST(OperatorCreate, HandleOfAnotherDeviceIsNotSupported) {
  for (const Operator* op : operators()) {
    const Handle handle;
    auto* device = reinterpret_cast<infiniDevice_t*>(handle.get());  // its layout is ABI
    ASSERT_EQ(*device, INFINI_DEVICE_CPU);
    *device = INFINI_DEVICE_NVIDIA;
    auto specs = specs_for(*op, kShape);
    specs[0].dtype = INFINI_DTYPE_I8;  // the device comes first
    TensorDescriptors tensors(specs);
    auto* descriptor = sentinel<InfiniopDescriptor>();
    EXPECT_TRUE(fails_with(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED,
                           op->create(handle.get(), &descriptor, tensors.data()), op->create_name(),
                           "handle"));
    EXPECT_EQ(descriptor, sentinel<InfiniopDescriptor>());
    *device = INFINI_DEVICE_CPU;
  }
}

TEST(OperatorCreate, TheThreeDataTypesAreTaken) {
  for (const Operator* op : operators()) {
    for (const auto dtype : {INFINI_DTYPE_F16, INFINI_DTYPE_BF16, INFINI_DTYPE_F32}) {
      const Descriptor descriptor(*op, specs_for(*op, kShape, dtype));
    }
  }
}

TEST(OperatorCreate, RanksAreTakenOrRefused) {
  for (const Operator* op : operators()) {
    for (std::size_t rank = op->vector_dim == 1 ? 2 : 1; rank <= 8; ++rank) {
      const auto specs = specs_for(*op, std::vector<std::size_t>(rank, 2));
      if (rank >= op->least_rank && rank <= op->most_rank) {
        const Descriptor descriptor(*op, specs);
        continue;
      }
      const Handle handle;
      TensorDescriptors tensors(specs);
      InfiniopDescriptor* descriptor = nullptr;
      EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_TENSOR_SHAPE,
                             op->create(handle.get(), &descriptor, tensors.data()),
                             op->create_name(), op->arguments[0].name));
    }
  }
}

TEST(OperatorCreate, WeightsOfAnyTypeBesideHalves) {
  for (const Operator* op : {&rms_norm_forward(), &add_rms_norm()}) {
    for (const auto data : {INFINI_DTYPE_F16, INFINI_DTYPE_BF16}) {
      for (const auto weight : {INFINI_DTYPE_F16, INFINI_DTYPE_BF16, INFINI_DTYPE_F32}) {
        auto specs = specs_for(*op, kShape, data);
        specs.back().dtype = weight;
        const Descriptor descriptor(*op, specs);
      }
    }
  }
}

TEST(OperatorCreate, EpsilonsAreAboveZeroOrNotNegative) {
  const Handle handle;
  InfiniopDescriptor* descriptor = nullptr;
  for (const float eps : {0.0f, -1e-6f, 1.5f, std::nanf(""), HUGE_VALF}) {
    TensorDescriptors t(specs_for(rms_norm_forward(), kShape));
    EXPECT_TRUE(fails_with(
        INFINI_STATUS_BAD_PARAM,
        infiniopCreateRMSNormDescriptor(handle.get(), &descriptor, t[0], t[1], t[2], eps),
        rms_norm_forward().create_name(), "epsilon"));
  }
  for (const float eps : {-1e-6f, std::nanf("")}) {
    TensorDescriptors t(specs_for(layer_norm_forward(), kShape));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM,
                           infiniopCreateLayerNormDescriptor(handle.get(), &descriptor, t[0], t[1],
                                                             t[2], t[3], t[4], t[5], eps),
                           layer_norm_forward().create_name(), "eps"));
  }
}

TEST(OperatorCreate, StridesOfExtentsOfOneMeanNothing) {
  for (const std::ptrdiff_t stride :
       {PTRDIFF_MIN, std::ptrdiff_t{-7}, std::ptrdiff_t{0}, std::ptrdiff_t{9}, PTRDIFF_MAX}) {
    for (const Operator* op : operators()) {
      for (const std::vector<std::size_t>& shape :
           {std::vector<std::size_t>{1, 4, 5}, {3, 1, 5}, {3, 4, 1}, {1, 1, 1}}) {
        auto specs = specs_for(*op, shape);
        for (TensorSpec& spec : specs) {
          const bool last_counts = op->layout == Layout::kUnitLastAlways && spec.shape.size() == 3;
          for (std::size_t d = 0; d < spec.shape.size() - (last_counts ? 1 : 0); ++d) {
            if (spec.shape[d] == 1) spec.strides[d] = stride;
          }
        }
        const Descriptor descriptor(*op, specs);
      }
    }
  }
}

TEST(OperatorCreate, InputsMayBeBroadcast) {
  for (const Operator* op : {&layer_norm(), &rms_norm()}) {
    auto specs = specs_for(*op, kShape);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (!op->arguments[i].output) specs[i].strides[0] = 0;
    }
    const Descriptor descriptor(*op, specs);
  }
}

TEST(OperatorCreate, StandardDeviationMayHaveATrailingOne) {
  auto specs = specs_for(layer_norm(), kShape);
  specs.back() = contiguous({3, 4, 1});
  const Descriptor descriptor(layer_norm(), specs);
}

TEST(OperatorCreate, LayerNormWorksWithoutBias) {
  const Descriptor descriptor(layer_norm(), specs_for(layer_norm(), kShape), true);
}

TEST(OperatorCreate, EmptyTensorsAreTaken) {
  for (const Operator* op : operators()) {
    for (const std::vector<std::size_t>& shape :
         {std::vector<std::size_t>{0, 4, 5}, {3, 0, 5}, {3, 4, 0}, {0, 0, 0}}) {
      const Descriptor descriptor(*op, specs_for(*op, shape));
    }
  }
}

TEST(OperatorCreate, DescriptorTellsItsDevice) {
  for (const Operator* op : operators()) {
    const Descriptor descriptor(*op, specs_for(*op, kShape));
    auto type = INFINI_DEVICE_ALI;
    int id = 7;
    EXPECT_EQ(infiniopGetDescriptorDeviceType(descriptor.get(), &type), INFINI_STATUS_SUCCESS);
    EXPECT_EQ(infiniopGetDescriptorDeviceId(descriptor.get(), &id), INFINI_STATUS_SUCCESS);
    EXPECT_EQ(type, INFINI_DEVICE_CPU);
    EXPECT_EQ(id, 0);
    const int* head = reinterpret_cast<const int*>(descriptor.get());  // its layout is ABI
    EXPECT_EQ(head[0], INFINI_DEVICE_CPU);
    EXPECT_EQ(head[1], 0);
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM,
                           infiniopGetDescriptorDeviceType(descriptor.get(), nullptr),
                           "infiniopGetDescriptorDeviceType", "device_type"));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM,
                           infiniopGetDescriptorDeviceId(descriptor.get(), nullptr),
                           "infiniopGetDescriptorDeviceId", "device_id"));
  }
}

TEST(OperatorCreate, DeviceOfADeadDescriptorIsBadParam) {
  auto type = INFINI_DEVICE_ALI;
  int id = 7;
  for (InfiniopDescriptor* dead :
       {static_cast<InfiniopDescriptor*>(nullptr), sentinel<InfiniopDescriptor>()}) {
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infiniopGetDescriptorDeviceType(dead, &type),
                           "infiniopGetDescriptorDeviceType", "desc_ptr"));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, infiniopGetDescriptorDeviceId(dead, &id),
                           "infiniopGetDescriptorDeviceId", "desc_ptr"));
  }
  EXPECT_EQ(type, INFINI_DEVICE_ALI);
  EXPECT_EQ(id, 7);
}

}  // namespace
}  // namespace api_test
