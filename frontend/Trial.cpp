#include "frontend/Trial.h"

#include <algorithm>
#include <set>

#include "frontend/Context.h"
#include "frontend/calls/Instances.h"

namespace tenc::frontend {

Trial::Trial(Context& context, Instances& instances, Reports reports)
    : context_(context),
      instances_(instances),
      reports_(reports),
      funcs_(context.module.funcs.size()),
      reported_(context.diags.all().size()),
      said_{context.failures_, context.stopped_, context.tooDeep_, context.module.tooLarge} {}

bool Trial::failed() const { return context_.failures_ != said_.failures; }

std::vector<Diagnostic> Trial::takeReports() { return context_.diags.take(reported_); }

Trial::~Trial() {
  if (kept_) return;
  auto& funcs = context_.module.funcs;
  if (funcs.size() > funcs_) {
    std::set<const ir::Func*> gone;
    for (size_t i = funcs_; i < funcs.size(); ++i) gone.insert(funcs[i].get());
    instances_.forget(gone);
    funcs.resize(funcs_);
  }
  if (reports_ == Reports::Stay) return;
  context_.diags.take(reported_);
  context_.failures_ = said_.failures;
  context_.stopped_ = said_.stopped;
  context_.tooDeep_ = said_.tooDeep;
  context_.steps_ = std::min(context_.steps_, Context::kMostSteps);  // that there are no more is said again
  context_.module.tooLarge = said_.tooLarge;
}

}  // namespace tenc::frontend
