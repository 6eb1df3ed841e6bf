# cmake -DFOLDER=docs/errors -DOUTPUT=ErrorPages.cpp -P EmbedPages.cmake: the pages as C++ raw strings.
file(GLOB pages ${FOLDER}/[EW]*.md)
list(SORT pages)
set(rows "")
set(count 0)
foreach(page ${pages})
  get_filename_component(code ${page} NAME_WE)
  file(READ ${page} text)
  string(APPEND rows "    {\"${code}\", R\"~page~(${text})~page~\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
if(count EQUAL 0)
  set(rows "    {\"\", \"\"},\n")
endif()
file(WRITE ${OUTPUT}
"namespace tenc::tool {
struct ErrorPage {
  const char* code;
  const char* text;
};
extern const ErrorPage kErrorPages[];
extern const unsigned kErrorPageCount;
const ErrorPage kErrorPages[] = {
${rows}};
const unsigned kErrorPageCount = ${count};
}  // namespace tenc::tool
")
