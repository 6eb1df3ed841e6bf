// tenc-opt: runs passes on IR text, for the tests of single passes.
//   tenc-opt FILE.tir [--passes=place,dce] [--cuda=N] [--run] [--no-print] [--kernels] [--program]
// Prints the IR that results (--run: what the reference interpreter prints) or the diagnostics, on standard output;
// exit status 1 when there were errors and 3 when the program stopped.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "codegen/Codegen.h"
#include "interp/Interp.h"
#include "ir/Ir.h"
#include "passes/Passes.h"
#include "support/InternalError.h"

namespace {

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> names;
  while (!list.empty()) {
    size_t comma = list.find(',');
    names.push_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return names;
}

/// Makes no code: programs are printed, not run.
class NoCode : public tenc::codegen::Target {
 public:
  std::string_view identity() const override { return "none"; }
  const tenc::ir::TargetTraits& traits() const override { return traits_; }
  tenc::codegen::KernelNeeds needs(const tenc::codegen::CodeRequest&) const override { return {}; }
  std::vector<tenc::codegen::Code> compile(std::span<const tenc::codegen::CodeRequest>,
                                           std::vector<tenc::abi::CodeImage>&, std::string&) override {
    return {};
  }
  std::span<const std::string_view> forms() const override { return {}; }
  std::string emit(std::span<const tenc::codegen::CodeRequest>, std::string_view) override { return {}; }
  std::string describe(const tenc::codegen::CodeRequest&) const override { return {}; }

 private:
  tenc::ir::TargetTraits traits_;
};

int lower(const tenc::ir::Module& module, const tenc::SourceManager& sources, bool kernels, bool program) {
  NoCode target;
  tenc::codegen::TargetTable targets;
  for (const char* kind : {"cpu", "cuda"}) targets.set(kind, target);
  tenc::codegen::Compiled compiled = tenc::codegen::lowerToProgram(module, *module.main(), sources, targets);
  if (!compiled.error.empty()) return std::cout << "internal error: " << compiled.error << "\n", 1;
  if (kernels) {
    for (const auto& k : compiled.kernels.kernels) std::cout << tenc::codegen::print(k);
  }
  if (program) std::cout << tenc::codegen::print(compiled.program);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string path, passes;
  tenc::passes::Context context;
  bool run = false, kernels = false, program = false;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg.starts_with("--passes="))
      passes = arg.substr(9);
    else if (arg.starts_with("--cuda="))
      context.machine.set("cuda", std::atoi(arg.c_str() + 7));
    else if (arg == "--no-fuse")
      context.fuse = false;
    else if (arg == "--kernels")
      kernels = true;
    else if (arg == "--program")
      program = true;
    else if (arg == "--run")
      run = true;
    else if (arg.starts_with("--"))
      return std::cerr << "unknown option " << arg << "\n", 2;
    else
      path = arg;
  }
  std::ifstream in(path);
  if (!in) return std::cerr << "cannot read " << path << "\n", 2;
  tenc::SourceManager sources;
  tenc::Diagnostics diags;
  uint32_t file = sources.add(path.substr(path.rfind('/') + 1),
                              std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
  auto module = tenc::ir::parse(sources, file, diags);
  context.diags = &diags;
  context.sources = &sources;
  bool ok = module != nullptr;
  try {
    ok = ok && tenc::passes::runPasses(*module, context, split(passes));
  } catch (const tenc::InternalError& error) { return std::cout << "internal error: " << error.message << "\n", 70; }
  std::cout << tenc::render(diags, sources);
  if (!ok) return 1;
  if (std::string wrong = tenc::ir::verify(*module); !wrong.empty())
    return std::cout << "invalid IR: " << wrong << "\n", 1;
  if (kernels || program) return lower(*module, sources, kernels, program);
  if (!run) return std::cout << tenc::ir::print(*module), 0;
  tenc::interp::Options options;
  options.print = [](std::string_view text) { std::cout << text; };
  tenc::interp::Result result = tenc::interp::run(*module, *module->main(), options);
  if (result.ok()) return 0;
  std::cout << "stop[" << tenc::info(result.stop->code).name << "]: " << result.stop->message << "\n";
  return 3;
}
