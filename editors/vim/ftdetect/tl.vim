autocmd BufRead,BufNewFile *.tl setfiletype tl
