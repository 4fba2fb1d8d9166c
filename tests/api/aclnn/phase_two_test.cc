// Phase 2 of every operator: executors, workspaces, streams and addresses that are wrong.
#include <cstring>
#include <thread>

#include "api/aclnn/refusals.h"
#include "normgrad/last_error.h"

namespace aclnn_test {
namespace {

constexpr int kNull = ACLNN_ERR_PARAM_NULLPTR;
constexpr int kInvalid = ACLNN_ERR_PARAM_INVALID;

class PhaseTwo : public testing::Test {
 protected:
  // Refused by phase 2, with nothing written.
  void expect_refused(const Operator& op, Tensors& tensors, const std::string& argument, int code) {
    Prepared prepared(op, tensors.data());
    EXPECT_TRUE(fails_with(code, prepared.run(session_.stream()), op.name, argument));
    EXPECT_EQ(aclrtSynchronizeStream(session_.stream()), 0);
    EXPECT_TRUE(tensors.untouched());
  }

  Session session_;
};

TEST_F(PhaseTwo, NullDeadAndForeignExecutors) {
  for (const Operator* op : operators()) {
    static char foreign[8192];
    EXPECT_TRUE(fails_with(kNull, op->phase_two(nullptr, 0, nullptr, session_.stream()), op->name,
                           "executor"));
    for (auto* executor : {sentinel<aclOpExecutor>(), reinterpret_cast<aclOpExecutor*>(foreign),
                           reinterpret_cast<aclOpExecutor*>(session_.stream())}) {
      EXPECT_TRUE(fails_with(ACLNN_ERR_INNER,
                             op->phase_two(nullptr, 0, executor, session_.stream()), op->name,
                             "executor"));
    }
  }
}

TEST_F(PhaseTwo, AnotherOperatorsExecutorIsRefusedAndLeftAlive) {
  for (std::size_t i = 0; i < operators().size(); ++i) {
    const Operator& op = *operators()[i];
    const Operator& other = *operators()[(i + 1) % operators().size()];
    for (const bool repeatable : {false, true}) {
      Tensors tensors(specs_for(op, kShape));
      Prepared prepared(op, tensors.data());
      if (repeatable) {
        EXPECT_EQ(aclSetAclOpExecutorRepeatable(prepared.executor), 0);
      }
      const int code = other.phase_two(prepared.workspace(), prepared.workspace_size,
                                       prepared.executor, session_.stream());
      EXPECT_TRUE(fails_with(ACLNN_ERR_INNER, code, other.name, op.phase_one_name()));
      EXPECT_TRUE(tensors.untouched());
      EXPECT_EQ(aclDestroyAclOpExecutor(prepared.executor), 0);
    }
  }
}

TEST_F(PhaseTwo, NullWorkspaceIsRefusedAndEndsTheExecutor) {
  for (const Operator* op : operators()) {
    Tensors tensors(specs_for(*op, kShape));
    const Prepared prepared(*op, tensors.data());
    EXPECT_TRUE(fails_with(kNull,
                           op->phase_two(nullptr, std::max<uint64_t>(prepared.workspace_size, 64),
                                         prepared.executor, session_.stream()),
                           op->name, "workspace"));
    EXPECT_EQ(aclDestroyAclOpExecutor(prepared.executor), ACLNN_ERR_INNER);
    EXPECT_TRUE(tensors.untouched());
  }
}

TEST_F(PhaseTwo, SmallWorkspaceIsRefusedAndEndsTheExecutorUnlessRepeatable) {
  std::size_t tested = 0;
  for (const Operator* op : operators()) {
    for (const bool repeatable : {false, true}) {
      Tensors tensors(specs_for(*op, kShape));
      Prepared prepared(*op, tensors.data());
      if (repeatable) {
        EXPECT_EQ(aclSetAclOpExecutorRepeatable(prepared.executor), 0);
      }
      if (prepared.workspace_size > 0) {
        ++tested;
        for (const uint64_t size : {prepared.workspace_size - 1, uint64_t{0}}) {
          if (!repeatable && size == 0) continue;
          EXPECT_TRUE(fails_with(
              kInvalid,
              op->phase_two(prepared.workspace(), size, prepared.executor, session_.stream()),
              op->name, "workspaceSize"));
        }
        if (repeatable) {
          EXPECT_TRUE(fails_with(kNull,
                                 op->phase_two(nullptr, 0, prepared.executor, session_.stream()),
                                 op->name, "workspace"));
        }
      }
      const bool dead = prepared.workspace_size > 0 && !repeatable;
      EXPECT_EQ(aclDestroyAclOpExecutor(prepared.executor), dead ? ACLNN_ERR_INNER : 0);
      EXPECT_TRUE(tensors.untouched());
    }
  }
  EXPECT_GT(tested, 0u);
}

TEST_F(PhaseTwo, DeadAndForeignStreams) {
  aclrtStream dead = nullptr;
  ASSERT_EQ(aclrtCreateStream(&dead), 0);
  ASSERT_EQ(aclrtDestroyStream(dead), 0);
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), 0);
  for (const Operator* op : operators()) {
    for (aclrtStream stream : {dead, aclrtStream(sentinel<void>()), aclrtStream(event)}) {
      Tensors tensors(specs_for(*op, kShape));
      Prepared prepared(*op, tensors.data());
      EXPECT_TRUE(
          fails_with(ACL_ERROR_RT_INVALID_HANDLE, prepared.run(stream), op->name, "stream"));
      EXPECT_TRUE(tensors.untouched());
    }
  }
  EXPECT_EQ(aclrtDestroyEvent(event), 0);
}

TEST_F(PhaseTwo, NullStreamIsTheDefaultStream) {
  for (const Operator* op : operators()) {
    Tensors tensors(specs_for(*op, kShape));
    Prepared prepared(*op, tensors.data());
    EXPECT_EQ(prepared.run(nullptr), 0) << normgradGetLastError();
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
    EXPECT_FALSE(tensors.untouched());
  }
}

TEST_F(PhaseTwo, NullStreamWithoutAContextIsARuntimeError) {
  std::thread([] {
    for (const Operator* op : operators()) {
      Tensors tensors(specs_for(*op, kShape));
      Prepared prepared(*op, tensors.data());
      EXPECT_TRUE(fails_with(ACLNN_ERR_RUNTIME_ERROR, prepared.run(nullptr), op->name, "stream"));
      EXPECT_TRUE(fails_with(ACLNN_ERR_INNER, prepared.run(nullptr), op->name, "executor"));
    }
  }).join();
}

// The arguments that take no part in training are not missed.
bool is_used(const Operator& op, const std::string& argument) {
  if (op.has("saveMean") && op.has("gradInput")) {
    return argument != "runningMean" && argument != "runningVar";
  }
  if (op.name == "aclnnLayerNormBackward") return argument != "biasOptional";
  if (op.name == "aclnnAdaLayerNormBackward") return argument != "shift";
  if (&op == &reduce_backward()) return argument != "weight";
  if (&op == &gather_stats()) return argument != "input";
  return true;
}

TEST_F(PhaseTwo, NullTensorDataIsFoundHereUnlessItIsNotUsed) {
  for (const Operator* op : operators()) {
    for (std::size_t i = 0; i < op->arguments.size(); ++i) {
      for (const int64_t offset : {0, 5}) {
        auto specs = specs_for(*op, kShape);
        specs[i].offset = offset;
        specs[i].storage = {64};
        Tensors tensors(specs);
        EXPECT_EQ(aclSetRawTensorAddr(tensors[i], nullptr), 0);
        if (is_used(*op, op->arguments[i].name)) {
          expect_refused(*op, tensors, op->arguments[i].name, kNull);
        } else {
          Prepared prepared(*op, tensors.data());
          EXPECT_EQ(prepared.run(session_.stream()), 0) << normgradGetLastError();
          EXPECT_EQ(aclrtSynchronizeStream(session_.stream()), 0);
        }
      }
    }
  }
}

TEST_F(PhaseTwo, DeviceMemoryThatWasFreedOrIsLeft) {
  for (const Operator* op : operators()) {
    for (std::size_t i = 0; i < op->arguments.size(); ++i) {
      if (!is_used(*op, op->arguments[i].name)) continue;
      auto specs = specs_for(*op, kShape);
      specs[i].storage = {1 << 20};
      for (const int64_t offset : {0, 63, 1 << 19}) {  // 64 bytes: 16 elements
        specs[i].offset = offset;
        Tensors tensors(specs);
        void* memory = nullptr;
        ASSERT_EQ(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
        EXPECT_EQ(aclSetRawTensorAddr(tensors[i], memory), 0);
        if (offset > 0 || op->arguments[i].form == Form::kData) {
          expect_refused(*op, tensors, op->arguments[i].name, kInvalid);
        }
        EXPECT_EQ(aclrtFree(memory), 0);
        expect_refused(*op, tensors, op->arguments[i].name, kInvalid);
      }
    }
  }
}

// An offset leads from freed memory into memory that is alive.
TEST_F(PhaseTwo, DeviceMemoryThatWasFreedBesideALiveNeighbour) {
  for (const Operator* op : operators()) {
    for (std::size_t i = 0; i < op->arguments.size(); ++i) {
      if (!is_used(*op, op->arguments[i].name)) continue;
      void* memory[2] = {};
      for (void*& m : memory) ASSERT_EQ(aclrtMalloc(&m, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 0);
      if (memory[0] > memory[1]) std::swap(memory[0], memory[1]);
      auto specs = specs_for(*op, kShape);
      specs[i].storage = {1 << 20};
      specs[i].offset = (static_cast<char*>(memory[1]) - static_cast<char*>(memory[0])) / 4;
      if (specs[i].offset > 1 << 19) continue;  // not neighbours
      Tensors tensors(specs);
      EXPECT_EQ(aclSetRawTensorAddr(tensors[i], memory[0]), 0);
      EXPECT_EQ(aclrtFree(memory[0]), 0);
      expect_refused(*op, tensors, op->arguments[i].name, kInvalid);
      EXPECT_EQ(aclrtFree(memory[1]), 0);
    }
  }
}

TEST_F(PhaseTwo, OutputsMustNotOverlap) {
  for (const Operator* op : operators()) {
    const std::size_t first = op->inputs();
    for (std::size_t i = first; i < op->arguments.size(); ++i) {
      for (std::size_t other = 0; other < i; ++other) {
        if (!is_used(*op, op->arguments[other].name)) continue;
        auto specs = specs_for(*op, kShape);
        specs[other].offset = 1;
        specs[other].storage = {64};
        Tensors tensors(specs);
        EXPECT_EQ(aclSetRawTensorAddr(tensors[other], tensors.values(i)), 0);
        expect_refused(*op, tensors, op->arguments[i].name, kInvalid);
      }
    }
  }
}

// Numbers without a pattern, the same every time.
void fill_inputs(const Operator& op, Tensors& tensors) {
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < op.inputs(); ++i) {
    std::vector<float> values(100);
    for (float& value : values) {
      state = state * 1664525u + 1013904223u;
      value = static_cast<float>(state >> 24) / 64 + 1;
    }
    tensors.fill(i, values);
  }
}

TEST_F(PhaseTwo, DataOutputsMayLieInPlaceOfDataInputs) {
  std::vector<const Operator*> all = {&batch_norm(), &batch_norm_backward(),
                                      &fast_batch_norm_backward(), &elemt(), &elemt_backward()};
  for (const Operator* op : row_norms()) {
    if (op->name != "aclnnInplaceAddRmsNorm") all.push_back(op);  // which has no others
  }
  for (const Operator* op : all) {
    for (std::size_t i = 0; i < op->inputs(); ++i) {
      if (op->arguments[i].form != Form::kData) continue;
      Tensors tensors(specs_for(*op, kShape));
      std::size_t output = op->inputs();
      while (op->arguments[output].form != Form::kData) ++output;
      fill_inputs(*op, tensors);
      Prepared apart(*op, tensors.data());
      EXPECT_EQ(apart.run(session_.stream()), 0) << normgradGetLastError();
      EXPECT_EQ(aclrtSynchronizeStream(session_.stream()), 0);
      Tensors again(specs_for(*op, kShape));
      fill_inputs(*op, again);
      EXPECT_EQ(aclSetRawTensorAddr(again[output], again.values(i)), 0);
      Prepared in_place(*op, again.data());
      EXPECT_EQ(in_place.run(session_.stream()), 0) << normgradGetLastError();
      EXPECT_EQ(aclrtSynchronizeStream(session_.stream()), 0);
      const std::size_t bytes = 4 * static_cast<std::size_t>(kShape[0] * kShape[1] * kShape[2]);
      EXPECT_EQ(std::memcmp(tensors.values(output), again.values(i), bytes), 0) << op->name;
    }
  }
}

// Run with NORMGRAD_STREAMS=deferred alone.
TEST_F(PhaseTwo, DeferredWorkFindsMemoryThatWasFreedMeanwhile) {
  for (const Operator* op : operators()) {
    const std::size_t output = op->arguments.size() - 1;
    Tensors tensors(specs_for(*op, kShape));
    void* memory = nullptr;
    ASSERT_EQ(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    EXPECT_EQ(aclSetRawTensorAddr(tensors[output], memory), 0);
    Prepared prepared(*op, tensors.data());
    EXPECT_EQ(prepared.run(session_.stream()), 0) << normgradGetLastError();
    EXPECT_EQ(aclrtFree(memory), 0);
    const int code = aclrtSynchronizeStream(session_.stream());
    EXPECT_EQ(code, ACL_ERROR_RT_INTERNAL_ERROR);
    const char* message = aclGetRecentErrMsg();
    ASSERT_NE(message, nullptr);
    EXPECT_TRUE(names(message, op->name) && names(message, op->arguments[output].name)) << message;
    EXPECT_TRUE(tensors.untouched());
    EXPECT_EQ(aclrtSynchronizeStream(session_.stream()), 0);  // told once
  }
}

}  // namespace
}  // namespace aclnn_test
