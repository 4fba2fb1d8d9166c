// problem -> plan -> run. A plan is a checked problem with its split into blocks and its workspace size; it holds no address
// and is only read by run(), so any number of threads may run one plan at once.
#ifndef NORMGRAD_PLAN_H
#define NORMGRAD_PLAN_H

#include <cstddef>
#include <memory>
#include <utility>

#include "normgrad/export.h"
#include "normgrad/problem.h"
#include "normgrad/settings.h"
#include "normgrad/status.h"

namespace normgrad {

struct PlanBody;

// A copy is the same plan, and costs next to nothing.
class NORMGRAD_API Plan {
 public:
  Plan() = default;  // none
  explicit Plan(std::shared_ptr<const PlanBody> body) : body_(std::move(body)) {}

  explicit operator bool() const { return body_ != nullptr; }
  // What run() needs; no alignment is asked of the workspace. 0 of no plan.
  std::size_t workspace_bytes() const;
  // That it was made with.
  Arithmetic arithmetic() const;

  const PlanBody* body() const { return body_.get(); }  // of the library's own

 private:
  std::shared_ptr<const PlanBody> body_;
};

// Leaves *plan as it was unless the answer is kOk. Throws std::bad_alloc.
NORMGRAD_API Status make_plan(const Problem& problem, Plan* plan);

// Checks the addresses (null, overlapping, outside the device memory they point into), then computes. On failure nothing has
// been written. No allocation; no lock unless data lies in device memory.
NORMGRAD_API Status run(const Plan& plan, const Addresses& addresses, void* workspace,
                        std::size_t workspace_bytes);

// The checks of run() alone, for callers that run later.
NORMGRAD_API Status check_run(const Plan& plan, const Addresses& addresses, void* workspace,
                              std::size_t workspace_bytes);

}  // namespace normgrad

#endif
