// Every library loaded, used and closed 200 times, by a program that is linked with none of them: no
// crash, and neither threads nor descriptors nor mappings grow. They are marked "nodelete"
// (cmake/options.cmake): a stream's thread, or one of OpenMP's, may be in their code.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include "concurrency/process_state.h"

// Declarations alone: functions are found by name.
#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <aclnnop/aclnn_batch_norm_elemt.h>
#include <infiniop.h>
#include <infinirt.h>
#include <normgrad/last_error.h>

#include <string>

namespace concurrency_test {
namespace {

class Library {
 public:
  explicit Library(const std::string& name)
      : handle_(::dlopen((NORMGRAD_LIBRARIES "/lib" + name + ".so").c_str(), RTLD_NOW)) {
    EXPECT_NE(handle_, nullptr) << ::dlerror();
  }
  ~Library() { EXPECT_EQ(::dlclose(handle_), 0); }
  Library(const Library&) = delete;

  template <class Function>
  Function* find(const char* name) const {
    void* found = ::dlsym(handle_, name);
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<Function*>(found);
  }
  bool is_marked() const {
    const link_map* map = nullptr;
    EXPECT_EQ(::dlinfo(handle_, RTLD_DI_LINKMAP, &map), 0);
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_FLAGS_1 && (entry->d_un.d_val & DF_1_NODELETE) != 0) return true;
    }
    return false;
  }

 private:
  void* handle_;
};
#define FIND(library, function) (library).find<decltype(function)>(#function)

void use_normgrad(const Library& library) {
  EXPECT_STREQ(FIND(library, normgradGetLastError)(), "");
  EXPECT_GE(library.find<int()>("_ZN8normgrad7threadsEv")(), 1);
}

void use_infinirt(const Library& library) {
  void* memory = nullptr;
  EXPECT_EQ(FIND(library, infinirtMalloc)(&memory, 100), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(FIND(library, infinirtMemset)(memory, 1, 100), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(FIND(library, infinirtFree)(memory), INFINI_STATUS_SUCCESS);
}

// Large enough for a team of threads.
void use_infiniop(const Library& library) {
  const size_t rows = 1024, columns = 64, matrix[] = {rows, columns}, vector[] = {columns};
  static float data[3][rows * columns], weights[2][columns];
  for (float& value : data[2]) value = 1;
  infiniopHandle_t handle = nullptr;
  infiniopTensorDescriptor_t big = nullptr, small = nullptr;
  infiniopRMSNormBackwardDescriptor_t descriptor = nullptr;
  EXPECT_EQ(FIND(library, infiniopCreateHandle)(&handle), INFINI_STATUS_SUCCESS);
  const auto tensor = FIND(library, infiniopCreateTensorDescriptor);
  EXPECT_EQ(tensor(&big, 2, matrix, nullptr, INFINI_DTYPE_F32), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(tensor(&small, 1, vector, nullptr, INFINI_DTYPE_F32), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(FIND(library, infiniopCreateRMSNormBackwardDescriptor)(handle, &descriptor, big, small,
                                                                   big, big, small),
            INFINI_STATUS_SUCCESS);
  size_t bytes = 0;
  EXPECT_EQ(FIND(library, infiniopGetRMSNormBackwardWorkspaceSize)(descriptor, &bytes),
            INFINI_STATUS_SUCCESS);
  std::string workspace(bytes, '\0');
  EXPECT_EQ(
      FIND(library, infiniopRMSNormBackward)(descriptor, workspace.data(), bytes, data[0],
                                             weights[0], data[1], data[2], weights[1], nullptr),
      INFINI_STATUS_SUCCESS);
  EXPECT_EQ(FIND(library, infiniopDestroyRMSNormBackwardDescriptor)(descriptor),
            INFINI_STATUS_SUCCESS);
  for (infiniopTensorDescriptor_t one : {big, small}) {
    EXPECT_EQ(FIND(library, infiniopDestroyTensorDescriptor)(one), INFINI_STATUS_SUCCESS);
  }
  EXPECT_EQ(FIND(library, infiniopDestroyHandle)(handle), INFINI_STATUS_SUCCESS);
}

// A stream is left behind with its work, and so is its thread: the device's last reset ends them.
void use_ascendcl(const Library& library) {
  aclrtStream stream = nullptr;
  int calls = 0;
  EXPECT_EQ(FIND(library, aclrtSetDevice)(0), ACL_SUCCESS);
  EXPECT_EQ(FIND(library, aclrtCreateStream)(&stream), ACL_SUCCESS);
  EXPECT_EQ(FIND(library, aclrtLaunchHostFunc)(
                stream, [](void* count) { ++*static_cast<int*>(count); }, &calls),
            ACL_SUCCESS);
  EXPECT_EQ(FIND(library, aclrtResetDevice)(0), ACL_SUCCESS);
  EXPECT_EQ(calls, 1);
}

aclTensor* make_tensor(const Library& library, float* data) {
  const int64_t shape[] = {2, 2};
  return FIND(library, aclCreateTensor)(shape, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 2,
                                        data);
}

void use_nnopbase(const Library& library) {
  float data[4] = {};
  EXPECT_EQ(FIND(library, aclDestroyTensor)(make_tensor(library, data)), 0);
}

void use_opapi_nn(const Library& library) {
  float x[4] = {1, 2, 3, 4}, y[4] = {}, ones[2] = {1, 1};
  const int64_t channels[] = {2};
  aclTensor* const one = FIND(library, aclCreateTensor)(channels, 1, ACL_FLOAT, nullptr, 0,
                                                        ACL_FORMAT_ND, channels, 1, ones);
  aclTensor* const tensors[] = {make_tensor(library, x), make_tensor(library, y), one};
  EXPECT_EQ(FIND(library, aclrtSetDevice)(0), ACL_SUCCESS);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(FIND(library, aclnnBatchNormElemtGetWorkspaceSize)(tensors[0], one, one, one, one, 0,
                                                               tensors[1], &bytes, &executor),
            0);
  std::string workspace(bytes, '\0');
  EXPECT_EQ(FIND(library, aclnnBatchNormElemt)(workspace.data(), bytes, executor, nullptr), 0);
  EXPECT_EQ(FIND(library, aclrtSynchronizeStream)(nullptr), ACL_SUCCESS);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y[i], x[i]);
  for (aclTensor* tensor : tensors) EXPECT_EQ(FIND(library, aclDestroyTensor)(tensor), 0);
  EXPECT_EQ(FIND(library, aclrtResetDevice)(0), ACL_SUCCESS);
}

struct Use {
  const char* library;
  void (*use)(const Library&);
};
constexpr Use kUses[] = {{"normgrad", use_normgrad}, {"infinirt", use_infinirt},
                         {"infiniop", use_infiniop}, {"ascendcl", use_ascendcl},
                         {"nnopbase", use_nnopbase}, {"opapi_nn", use_opapi_nn}};

void load_and_use(const Use& one) {
  const Library library(one.library);
  one.use(library);
}

TEST(Loading, OfEveryLibraryTwoHundredTimes) {
  constexpr std::size_t kRounds = 200;
  for (const Use& one : kUses) {
    SCOPED_TRACE(one.library);
    for (int i = 0; i < 20; ++i) load_and_use(one);
    const ProcessState before = settled_process_state();
    for (std::size_t i = 0; i < kRounds; ++i) load_and_use(one);
    const ProcessState after = settled_process_state();
    EXPECT_LE(after.threads, before.threads);
    EXPECT_LE(after.descriptors, before.descriptors);
    // Less than one in ten rounds: AddressSanitizer maps memory of its own as threads come and go.
    EXPECT_LT(after.mappings, before.mappings + kRounds / 10);
  }
}

TEST(Loading, LeavesEveryLibraryInPlaceOnPurpose) {
  for (const Use& one : kUses) EXPECT_TRUE(Library(one.library).is_marked()) << one.library;
}

}  // namespace
}  // namespace concurrency_test
