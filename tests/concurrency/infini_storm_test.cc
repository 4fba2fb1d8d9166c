// Eight threads create and destroy handles, descriptors and events of the InfiniOp family, and use
// and destroy each other's: success or "not alive", nothing else, and right bits wherever it is
// success.
#include <gtest/gtest.h>

#include "concurrency/infiniop_call.h"
#include "concurrency/slots.h"
#include "concurrency/threads.h"

namespace concurrency_test {
namespace {

constexpr int kRounds = 1000;

struct World {
  Slots<infiniopHandle_t> handles;
  Slots<infiniopTensorDescriptor_t> tensors[8];  // by argument: of one shape each
  Slots<InfiniopDescriptor*> descriptors;
  Slots<infinirtEvent_t> events;
};

class Client {
 public:
  Client(World& world, const api_test::Operator& op, int number)
      : world_(world),
        op_(op),
        specs_(api_test::specs_for(op, kSmallShape)),
        call_(op, kSmallShape, static_cast<unsigned>(number)),
        dice_(number) {
    const api_test::Descriptor own(op, specs_);
    workspace_bytes_ = own.workspace_size();
    EXPECT_EQ(call_.run(own.get(), workspace_bytes_), INFINI_STATUS_SUCCESS);
    call_.expect_this();
  }

  void operator()() {
    for (int round = 0; round < kRounds; ++round) {
      replace_handle();
      for (std::size_t i = 0; i < specs_.size(); ++i) replace_tensor(i);
      replace_descriptor();
      replace_event();
      compute();
      destroy_somebody_elses();
    }
  }
  std::string unexpected() const {
    return codes_.others({INFINI_STATUS_SUCCESS, INFINI_STATUS_BAD_PARAM,
                          INFINI_STATUS_BAD_TENSOR_SHAPE, INFINI_STATUS_BAD_TENSOR_STRIDES});
  }
  int wrong() const { return wrong_; }
  int computed() const { return computed_; }

 private:
  void replace_handle() {
    infiniopHandle_t handle = nullptr;
    codes_.add(infiniopCreateHandle(&handle));
    handle = world_.handles.put(dice_(8), handle);
    codes_.add(infiniopDestroyHandle(handle));
  }
  void replace_tensor(std::size_t i) {
    infiniopTensorDescriptor_t tensor = nullptr;
    codes_.add(infiniopCreateTensorDescriptor(&tensor, specs_[i].shape.size(),
                                              specs_[i].shape.data(), specs_[i].strides.data(),
                                              specs_[i].dtype));
    codes_.add(infiniopDestroyTensorDescriptor(world_.tensors[i].put(dice_(8), tensor)));
  }
  // From tensors that others may be destroying; their addresses may come back as other tensors. None
  // of a slot that nobody has filled yet: the descriptor of an output left out is valid, and computes
  // something else.
  void replace_descriptor() {
    infiniopTensorDescriptor_t tensors[8] = {};
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      tensors[i] = world_.tensors[i].look(dice_(8));
      if (tensors[i] == nullptr) return;
    }
    InfiniopDescriptor* descriptor = nullptr;
    codes_.add(op_.create(world_.handles.look(dice_(8)), &descriptor, tensors));
    codes_.add(op_.destroy(world_.descriptors.put(dice_(8), descriptor)));
  }
  void replace_event() {
    infinirtEvent_t event = nullptr;
    codes_.add(infinirtEventCreate(&event));
    event = world_.events.put(dice_(8), event);
    if (event != nullptr) codes_.add(infinirtEventDestroy(event));
    event = world_.events.look(dice_(8));
    if (event != nullptr) codes_.add(infinirtEventRecord(event, nullptr));
    if (event != nullptr) codes_.add(infinirtEventSynchronize(event));
  }
  void compute() {
    InfiniopDescriptor* descriptor = world_.descriptors.look(dice_(8));
    if (descriptor == nullptr) return;
    std::size_t bytes = 0;
    codes_.add(op_.workspace_size(descriptor, &bytes));
    call_.forget_outputs();
    if (codes_.add(call_.run(descriptor, workspace_bytes_)) != INFINI_STATUS_SUCCESS) return;
    ++computed_;
    wrong_ += !call_.is_as_expected();
  }
  void destroy_somebody_elses() {
    if (dice_(4) != 0) return;
    codes_.add(op_.destroy(world_.descriptors.look(dice_(8))));
    codes_.add(
        infiniopDestroyTensorDescriptor(world_.tensors[dice_(specs_.size())].look(dice_(8))));
    codes_.add(infiniopDestroyHandle(world_.handles.look(dice_(8))));
    infinirtEvent_t event = world_.events.look(dice_(8));
    if (event != nullptr) codes_.add(infinirtEventDestroy(event));
  }

  World& world_;
  const api_test::Operator& op_;
  const std::vector<api_test::TensorSpec> specs_;
  InfiniopCall call_;
  std::size_t workspace_bytes_ = 0;
  Dice dice_;
  Codes codes_;
  int wrong_ = 0;
  int computed_ = 0;
};

void storm(const api_test::Operator& op) {
  World world;
  std::vector<Client> clients;
  for (int t = 0; t < kThreads; ++t) clients.emplace_back(world, op, t);
  in_threads(kThreads, [&](int t) { clients[static_cast<std::size_t>(t)](); });
  int computed = 0;
  for (const Client& client : clients) {
    EXPECT_EQ(client.unexpected(), "");
    EXPECT_EQ(client.wrong(), 0);
    computed += client.computed();
  }
  EXPECT_GT(computed, 0);
  world.handles.clear(infiniopDestroyHandle);
  for (auto& tensors : world.tensors) tensors.clear(infiniopDestroyTensorDescriptor);
  world.descriptors.clear(op.destroy);
  world.events.clear(infinirtEventDestroy);
}

TEST(InfiniStorm, AnswersWithDocumentedCodesAndRightBits) {
  for (const api_test::Operator* op : api_test::operators()) {
    SCOPED_TRACE(op->name);
    storm(*op);
  }
}

}  // namespace
}  // namespace concurrency_test
