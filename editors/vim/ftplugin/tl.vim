setlocal commentstring=#\ %s comments=:##,:# shiftwidth=4 softtabstop=4 expandtab textwidth=120
