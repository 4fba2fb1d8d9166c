// infiniop<Op>, infiniopGet<Op>WorkspaceSize and infiniopDestroy<Op>Descriptor: what they refuse,
// and that nothing has been written then.
#include <cstring>
#include <functional>

#include "api/operators.h"
#include "normgrad/last_error.h"

namespace api_test {
namespace {

const std::vector<std::size_t> kShape{3, 4, 5};

std::vector<const Operator*> others(const Operator& op) {
  std::vector<const Operator*> all;
  for (const Operator* other : operators()) {
    if (other != &op) all.push_back(other);
  }
  return all;
}

// Everything that a call is given, in one block of memory that can be compared byte for byte.
class Call {
 public:
  explicit Call(const Operator& op, const std::vector<std::size_t>& shape = kShape,
                infiniDtype_t dtype = INFINI_DTYPE_F32)
      : op_(op), specs_(specs_for(op, shape, dtype)), descriptor_(op, specs_) {
    descriptor = descriptor_.get();
    workspace_size = descriptor_.workspace_size();
    memory_.resize((specs_.size() + 1) * kRoom + workspace_size, std::byte{0x3F});
    for (std::size_t i = 0; i < specs_.size(); ++i) data.push_back(memory_.data() + i * kRoom);
    workspace = memory_.data() + (specs_.size() + 1) * kRoom;
  }

  infiniStatus_t run() const {
    return op_.compute(descriptor, workspace, workspace_size, data.data());
  }

  // Runs, and expects the failure and that not a byte of any tensor or of the workspace is
  // different.
  void expect_failure(infiniStatus_t code, const std::string& argument) {
    const std::vector<std::byte> before = memory_;
    EXPECT_TRUE(fails_with(code, run(), op_.compute_name(), argument));
    EXPECT_TRUE(memory_ == before) << "something was written";
  }

  std::size_t bytes(std::size_t i) const { return specs_[i].span() * bytes_of(specs_[i].dtype); }

  InfiniopDescriptor* descriptor;
  void* workspace;
  std::size_t workspace_size;
  std::vector<void*> data;

 private:
  static constexpr std::size_t kRoom = 1024;  // of a tensor; 3 * 4 * 5 * 4 bytes are used

  const Operator& op_;
  std::vector<TensorSpec> specs_;
  Descriptor descriptor_;
  std::vector<std::byte> memory_;
};

InfiniopDescriptor* dead_descriptor(const Operator& op) {
  const Handle handle;
  TensorDescriptors tensors(specs_for(op, kShape));
  InfiniopDescriptor* dead = nullptr;
  EXPECT_EQ(op.create(handle.get(), &dead, tensors.data()), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(op.destroy(dead), INFINI_STATUS_SUCCESS);
  return dead;
}

// Descriptors that `op` must refuse: body(what, descriptor).
void for_each_bad_descriptor(
    const Operator& op, const std::function<void(const std::string&, InfiniopDescriptor*)>& body) {
  static char foreign[8192];
  body("dead", dead_descriptor(op));
  body("foreign", reinterpret_cast<InfiniopDescriptor*>(foreign));
  body("no address", sentinel<InfiniopDescriptor>());
  TensorDescriptors tensors({contiguous({2})});
  body("a tensor descriptor", reinterpret_cast<InfiniopDescriptor*>(tensors[0]));
  for (const Operator* other : others(op)) {
    const Descriptor descriptor(*other, specs_for(*other, kShape));
    body("of " + other->name, descriptor.get());
  }
}

TEST(OperatorCompute, RefusesEveryDescriptorThatIsNotItsOwn) {
  for (const Operator* op : operators()) {
    Call call(*op);  // made first: a dead descriptor's address must not come to life as its own
    const auto refuse = [op, &call](const std::string& what, InfiniopDescriptor* descriptor) {
      SCOPED_TRACE(op->name + " with a descriptor that is " + what);
      call.descriptor = descriptor;
      call.expect_failure(INFINI_STATUS_BAD_PARAM, "desc");
      std::size_t size = 77;
      EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, op->workspace_size(descriptor, &size),
                             op->workspace_size_name(), "desc"));
      EXPECT_EQ(size, 77u);
      if (descriptor == nullptr) return;  // which may be destroyed
      EXPECT_TRUE(
          fails_with(INFINI_STATUS_BAD_PARAM, op->destroy(descriptor), op->destroy_name(), "desc"));
    };
    refuse("null", nullptr);
    for_each_bad_descriptor(*op, refuse);
  }
}

TEST(OperatorCompute, DestroyingNullSucceeds) {
  for (const Operator* op : operators()) EXPECT_EQ(op->destroy(nullptr), INFINI_STATUS_SUCCESS);
}

TEST(OperatorCompute, NullSizeIsBadParam) {
  for (const Operator* op : operators()) {
    const Descriptor descriptor(*op, specs_for(*op, kShape));
    EXPECT_TRUE(fails_with(INFINI_STATUS_BAD_PARAM, op->workspace_size(descriptor.get(), nullptr),
                           op->workspace_size_name(), "size"));
  }
}

// Shapes large enough, and types narrow enough, that every operator wants a workspace.
const std::vector<std::size_t> kLargeShape{2, 3, 8};

TEST(OperatorCompute, AWorkspaceThatIsTooSmallIsRefused) {
  for (const Operator* op : operators()) {
    Call call(*op, kLargeShape, INFINI_DTYPE_F16);
    const std::size_t needed = call.workspace_size;
    if (needed == 0) continue;
    for (const std::size_t given : {needed - 1, needed / 2, std::size_t{0}}) {
      SCOPED_TRACE(op->name + " " + std::to_string(given) + " of " + std::to_string(needed));
      call.workspace_size = given;
      call.expect_failure(INFINI_STATUS_INSUFFICIENT_WORKSPACE, "workspace_size");
    }
    call.workspace_size = needed;
    EXPECT_EQ(call.run(), INFINI_STATUS_SUCCESS) << normgradGetLastError();
  }
}

TEST(OperatorCompute, RowNormsWantAWorkspace) {  // else the test above would prove nothing
  for (const Operator* op : {&layer_norm(), &rms_norm()}) {
    EXPECT_GT(Call(*op, kLargeShape, INFINI_DTYPE_F16).workspace_size, 0u) << op->name;
  }
}

TEST(OperatorCompute, NullWorkspaceIsRefusedIfOneIsNeeded) {
  for (const Operator* op : operators()) {
    SCOPED_TRACE(op->name);
    Call call(*op, kLargeShape, INFINI_DTYPE_F16);
    call.workspace = nullptr;
    if (call.workspace_size > 0) {
      call.expect_failure(INFINI_STATUS_BAD_PARAM, "workspace");
    } else {
      EXPECT_EQ(call.run(), INFINI_STATUS_SUCCESS) << normgradGetLastError();
    }
  }
}

TEST(OperatorCompute, TheWorkspaceIsCheckedBeforeThePointers) {
  for (const Operator* op : {&layer_norm(), &rms_norm()}) {
    Call call(*op, kLargeShape, INFINI_DTYPE_F16);
    --call.workspace_size;
    call.data[0] = nullptr;
    call.expect_failure(INFINI_STATUS_INSUFFICIENT_WORKSPACE, "workspace_size");
  }
}

TEST(OperatorCompute, TheDescriptorIsCheckedBeforeTheWorkspace) {
  for (const Operator* op : operators()) {
    Call call(*op);
    call.descriptor = nullptr;
    call.workspace_size = 0;
    call.expect_failure(INFINI_STATUS_BAD_PARAM, "desc");
  }
}

TEST(OperatorCompute, EveryNullPointerIsRefused) {
  for (const Operator* op : operators()) {
    for (std::size_t i = 0; i < op->arguments.size(); ++i) {
      SCOPED_TRACE(op->name + " " + op->arguments[i].name);
      Call call(*op);
      call.data[i] = nullptr;
      call.expect_failure(INFINI_STATUS_BAD_PARAM, op->arguments[i].name);
    }
  }
}

TEST(OperatorCompute, OutputsMustNotOverlapEachOther) {
  for (const Operator* op : operators()) {
    for (std::size_t i = 0; i < op->arguments.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (!op->arguments[i].output || !op->arguments[j].output) continue;
        for (const std::ptrdiff_t shift : {0, 4, 8}) {
          SCOPED_TRACE(op->name + " " + op->arguments[i].name + " on " + op->arguments[j].name);
          Call call(*op);
          call.data[i] = static_cast<std::byte*>(call.data[j]) + shift;
          call.expect_failure(INFINI_STATUS_BAD_PARAM, op->arguments[i].name);
        }
      }
    }
  }
}

TEST(OperatorCompute, OutputsMustNotPartlyOverlapInputs) {
  for (const Operator* op : operators()) {
    for (std::size_t i = 0; i < op->arguments.size(); ++i) {
      for (std::size_t j = 0; j < op->arguments.size(); ++j) {
        if (!op->arguments[i].output || op->arguments[j].output) continue;
        for (const std::ptrdiff_t shift : {2, 4}) {
          SCOPED_TRACE(op->name + " " + op->arguments[i].name + " on " + op->arguments[j].name);
          Call call(*op);
          call.data[i] = static_cast<std::byte*>(call.data[j]) + shift;
          call.expect_failure(INFINI_STATUS_BAD_PARAM, op->arguments[i].name);
        }
      }
    }
  }
}

TEST(OperatorCompute, TheWorkspaceMustNotOverlapATensor) {
  for (const Operator* op : {&layer_norm(), &rms_norm()}) {
    for (std::size_t i = 0; i < op->arguments.size(); ++i) {
      SCOPED_TRACE(op->name + " " + op->arguments[i].name);
      Call call(*op, kLargeShape, INFINI_DTYPE_F16);
      ASSERT_GT(call.workspace_size, 0u);
      call.data[i] = call.workspace;
      call.expect_failure(INFINI_STATUS_BAD_PARAM, op->arguments[i].name);
    }
  }
}

TEST(OperatorCompute, ViewsMustNotLeaveTheirAllocation) {
  for (const Operator* op : operators()) {
    for (std::size_t i = 0; i < op->arguments.size(); ++i) {
      SCOPED_TRACE(op->name + " " + op->arguments[i].name);
      Call call(*op);
      void* memory = nullptr;
      ASSERT_EQ(infinirtMalloc(&memory, call.bytes(i) - 1), INFINI_STATUS_SUCCESS);
      std::memset(memory, 0x3F, call.bytes(i) - 1);
      call.data[i] = memory;
      call.expect_failure(INFINI_STATUS_BAD_PARAM, op->arguments[i].name);
      EXPECT_EQ(infinirtFree(memory), INFINI_STATUS_SUCCESS);
      call.expect_failure(INFINI_STATUS_BAD_PARAM, op->arguments[i].name);  // use after free
    }
  }
}

TEST(OperatorCompute, DeviceMemoryOfTheRightSizeIsFine) {
  for (const Operator* op : operators()) {
    Call call(*op, kLargeShape, INFINI_DTYPE_BF16);
    std::vector<void*> all;
    const auto move = [&](void** pointer, std::size_t bytes) {
      void* memory = nullptr;
      ASSERT_EQ(infinirtMalloc(&memory, bytes), INFINI_STATUS_SUCCESS);
      if (bytes > 0) std::memcpy(memory, *pointer, bytes);
      all.push_back(*pointer = memory);
    };
    for (std::size_t i = 0; i < call.data.size(); ++i) move(&call.data[i], call.bytes(i));
    move(&call.workspace, call.workspace_size);
    EXPECT_EQ(call.run(), INFINI_STATUS_SUCCESS) << normgradGetLastError();
    for (void* memory : all) EXPECT_EQ(infinirtFree(memory), INFINI_STATUS_SUCCESS);
  }
}

TEST(OperatorCompute, AWorkspaceInFreedMemoryIsRefused) {
  for (const Operator* op : {&layer_norm(), &rms_norm()}) {
    Call call(*op, kLargeShape, INFINI_DTYPE_F16);
    ASSERT_EQ(infinirtMalloc(&call.workspace, call.workspace_size), INFINI_STATUS_SUCCESS);
    ASSERT_EQ(infinirtFree(call.workspace), INFINI_STATUS_SUCCESS);
    call.expect_failure(INFINI_STATUS_BAD_PARAM, "workspace");
  }
}

TEST(OperatorCompute, AFailureDoesNotSpoilTheDescriptor) {
  for (const Operator* op : operators()) {
    Call call(*op);
    void* good = call.data[0];
    call.data[0] = nullptr;
    call.expect_failure(INFINI_STATUS_BAD_PARAM, op->arguments[0].name);
    call.data[0] = good;
    EXPECT_EQ(call.run(), INFINI_STATUS_SUCCESS) << normgradGetLastError();
  }
}

TEST(OperatorCompute, TheHandleMayBeDestroyedBeforeTheDescriptorIsUsed) {
  // Descriptor's constructor has destroyed its handle and all tensor descriptors.
  for (const Operator* op : operators()) EXPECT_EQ(Call(*op).run(), INFINI_STATUS_SUCCESS);
}

}  // namespace
}  // namespace api_test
