// Phase 2: finds executor and stream, then runs the plan now or hands it to the stream.
#include <cstring>

#include "acl/acl_rt.h"
#include "api/aclnn/operator.h"
#include "ops/plan.h"
#include "runtime/device_memory.h"
#include "runtime/stream.h"

namespace normgrad::api {
namespace {

struct Workspace {
  void* address;
  std::uint64_t bytes;
};

int refuse_other_operator(const char* name, const aclOpExecutor& executor) {
  return refuse(kAclnnInner, "executor was made by %sGetWorkspaceSize and cannot be run by %s",
                executor.op, name);
}

// The executor for one run: a copy if it is repeatable, since another thread may destroy it
// meanwhile, else itself. Of several threads that run one that is not, one gets it.
int take(const char* name, aclOpExecutor* executor, OwnedExecutor* taken) {
  const Visit visit;
  if (executor == nullptr) return refuse_null_pointer("executor");
  // One that is not repeatable may become so at any time, but not the other way round.
  if (!is_live(executor, aclOpExecutor::kKind) &&
      !is_live(executor, aclOpExecutor::kRepeatableKind)) {
    return refuse_dead_executor(executor);
  }
  if (std::strcmp(executor->op, name) != 0) return refuse_other_operator(name, *executor);
  if (unregister_handle(executor, aclOpExecutor::kKind)) {
    taken->reset(executor);
    return 0;
  }
  if (!is_live(executor, aclOpExecutor::kRepeatableKind)) return refuse_dead_executor(executor);
  *taken = OwnedExecutor(new aclOpExecutor(*executor), EndExecutor{true});
  return 0;
}

int check_workspace(const aclOpExecutor& executor, const Workspace& workspace) {
  const std::size_t needed = executor.plan.workspace_bytes();
  if (workspace.address == nullptr && (workspace.bytes > 0 || needed > 0)) {
    return refuse(kAclnnNullPointer, "workspace is null, but workspaceSize is %llu and %zu needed",
                  static_cast<unsigned long long>(workspace.bytes), needed);
  }
  if (workspace.bytes >= needed) return 0;
  return refuse(kAclnnInvalid, "workspaceSize is %llu, but %zu bytes of workspace are needed",
                static_cast<unsigned long long>(workspace.bytes), needed);
}

int refuse_dead_stream(const void* handle) {
  return refuse(ACL_ERROR_RT_INVALID_HANDLE,
                "stream (%p) is not alive: it was destroyed, or it is not a stream", handle);
}

int find_stream(aclrtStream handle, std::shared_ptr<Stream>* stream) {
  if (handle == nullptr && aclrtCtxGetCurrentDefaultStream(&handle) != 0) {
    return refuse(kAclnnRuntime,
                  "stream is null, which stands for the default stream of the current context, but "
                  "there is no context: call aclrtSetDevice first");
  }
  *stream = normgrad::find_stream(handle);
  if (*stream != nullptr) return 0;
  return refuse_dead_stream(handle);
}

// The core sees the address of a tensor's first element alone. An offset may have led it out of the
// device memory that tensorData points into.
bool leaves_device_memory(const TensorSlot& slot, const ByteRange& range, const void* data) {
  if (slot.offset_bytes == 0) return false;
  const auto* address = static_cast<const std::byte*>(data) - slot.offset_bytes;
  const Place place =
      place_of(address, range.begin + slot.offset_bytes, range.end + slot.offset_bytes);
  return place == Place::kOutside || place == Place::kFreed;
}

Status check_addresses(const aclOpExecutor& executor) {
  for (int i = 0; i < executor.slots; ++i) {
    const TensorSlot& slot = executor.slot[i];
    if (slot.arg == Arg::kNone) continue;
    const void* data = executor.addresses.at[index_of(slot.arg)];
    const ByteRange& range = (*executor.plan.body())[slot.arg].range;
    if (range.begin == range.end) continue;
    if (data == nullptr) {
      return fail(Status::kNullPointer, "%s has elements, but its tensorData is null", slot.name);
    }
    if (!leaves_device_memory(slot, range, data)) continue;
    return fail(Status::kBadParam,
                "%s begins %lld bytes behind its tensorData and leaves the device memory there, or "
                "that has been freed",
                slot.name, static_cast<long long>(slot.offset_bytes));
  }
  return Status::kOk;
}

Status run(const aclOpExecutor& executor, const Workspace& workspace) {
  const Status status = check_addresses(executor);
  if (status != Status::kOk) return status;
  return normgrad::run(executor.plan, executor.addresses, workspace.address, workspace.bytes);
}

Status check_run(const aclOpExecutor& executor, const Workspace& workspace) {
  const Status status = check_addresses(executor);
  if (status != Status::kOk) return status;
  return normgrad::check_run(executor.plan, executor.addresses, workspace.address, workspace.bytes);
}

class OperatorWork : public Work {
 public:
  OperatorWork(OwnedExecutor executor, const Workspace& workspace)
      : executor_(std::move(executor)), workspace_(workspace) {}

  // The memory may have been freed since phase 2.
  int run() override {
    const Status status = guarded(executor_->op, [&] { return api::run(*executor_, workspace_); });
    return status == Status::kOk ? 0 : ACL_ERROR_RT_INTERNAL_ERROR;
  }

 private:
  OwnedExecutor executor_;
  Workspace workspace_;
};

int submit(OwnedExecutor executor, const Workspace& workspace, Stream& stream) {
  NORMGRAD_ACLNN_TRY(to_aclnn(check_run(*executor, workspace)));
  const auto mark = stream.submit(std::make_unique<OperatorWork>(std::move(executor), workspace));
  return mark.has_value() ? 0 : refuse_dead_stream(&stream);
}

}  // namespace

int phase_two(const char* name, void* workspace_address, std::uint64_t workspace_bytes,
              aclOpExecutor* executor, aclrtStream stream_handle) {
  return aclnn_waiting_entry(name, [&] {
    const Workspace workspace{workspace_address, workspace_bytes};
    OwnedExecutor taken;
    NORMGRAD_ACLNN_TRY(take(name, executor, &taken));
    NORMGRAD_ACLNN_TRY(check_workspace(*taken, workspace));
    std::shared_ptr<Stream> stream;
    NORMGRAD_ACLNN_TRY(find_stream(stream_handle, &stream));
    if (!taken->has_work()) return 0;
    if (!stream->is_inline()) return submit(std::move(taken), workspace, *stream);
    return stream->run_inline([&] { return to_aclnn(run(*taken, workspace)); });
  });
}

}  // namespace normgrad::api
