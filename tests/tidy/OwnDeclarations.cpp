// A plugin that makes clang-tidy look at our declarations only. Without it every check walks through all that the
// headers of the system and of LLVM declare, whose findings are dropped in the end: three quarters of the time.
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/Basic/SourceManager.h>

#include <vector>

namespace tenc {
namespace {

/// Finds nothing. The first match of all is the translation unit itself; what is walked through afterwards is read from
/// the traversal scope.
class OwnDeclarations : public clang::tidy::ClangTidyCheck {
 public:
  using ClangTidyCheck::ClangTidyCheck;
  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override {
    finder->addMatcher(clang::ast_matchers::translationUnitDecl().bind("unit"), this);
  }
  void check(const clang::ast_matchers::MatchFinder::MatchResult& result) override {
    std::vector<clang::Decl*> ours;
    for (clang::Decl* d : result.Nodes.getNodeAs<clang::TranslationUnitDecl>("unit")->decls()) {
      if (!result.SourceManager->isInSystemHeader(d->getLocation())) ours.push_back(d);
    }
    result.Context->setTraversalScope(ours);
  }
};

class Module : public clang::tidy::ClangTidyModule {
 public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
    factories.registerCheck<OwnDeclarations>("tenc-own-declarations");
  }
};

const clang::tidy::ClangTidyModuleRegistry::Add<Module> kRegistered("tenc", "What else our use of clang-tidy needs.");

}  // namespace
}  // namespace tenc
