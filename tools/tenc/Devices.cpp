// `tenc devices`: what `device` lines can name on this machine.
#include <cstdio>

#include "support/Text.h"
#include "tools/tenc/Commands.h"

namespace tenc::tool {

int devicesCommand(Session& session) {
  std::printf("cpu      %s, %d threads, %s\n", hostName().c_str(), session.machine().threads(),
              formatBytes(hostMemory()).c_str());
  const uint64_t each = session.options().virtualBytes != 0 ? session.options().virtualBytes : hostMemory();
  for (int i = 0; i < session.options().virtualCuda; ++i)
    std::printf("cuda:%d   virtual device on this machine, %s\n", i, formatBytes(each).c_str());
  return 0;
}

}  // namespace tenc::tool
