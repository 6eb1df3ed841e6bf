# cmake -DTOOL=antlr4 -DGRAMMAR=TL.g4 -DFOLDER=out -P Generate.cmake
# Generates the parser, checks that it is LL(1), and makes its start-up lazy.
execute_process(
  COMMAND ${TOOL} -Dlanguage=Cpp -Werror -no-listener -no-visitor -Xexact-output-dir -o ${FOLDER} ${GRAMMAR}
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the ANTLR tool failed")
endif()

file(READ ${FOLDER}/TLParser.cpp text)
if(text MATCHES "adaptivePredict")
  message(FATAL_ERROR "TL.g4 has a decision that is not LL(1): see adaptivePredict in ${FOLDER}/TLParser.cpp")
endif()

# The runtime reads the serialised automata in static constructors; here the first parse does, through `init()`.
foreach(class TLLexer TLParser)
  file(READ ${FOLDER}/${class}.h header)
  string(REPLACE "  static Initializer _init;" "public:\n  static void init() { static Initializer once; }" lazy "${header}")
  file(READ ${FOLDER}/${class}.cpp source)
  string(REPLACE "${class}::Initializer ${class}::_init;" "" lazySource "${source}")
  if(lazy STREQUAL header OR lazySource STREQUAL source)
    message(FATAL_ERROR "the text generated for ${class} is not what this script expects")
  endif()
  file(WRITE ${FOLDER}/${class}.h "${lazy}")
  file(WRITE ${FOLDER}/${class}.cpp "${lazySource}")
endforeach()

# Nodes find their children by `grammar/Children.h`.
file(READ ${FOLDER}/TLParser.cpp source)
string(REGEX REPLACE "getRuleContext<([A-Za-z:]+)>\\(" "tenc::grammar::childOf<\\1>(*this, " source "${source}")
string(REGEX REPLACE "getRuleContexts<([A-Za-z:]+)>\\(" "tenc::grammar::childrenOf<\\1>(*this" source "${source}")
string(REGEX REPLACE "getToken\\(TLParser::" "tenc::grammar::tokenOf(*this, TLParser::" source "${source}")
if(source MATCHES "getRuleContext")
  message(FATAL_ERROR "the text generated for TLParser is not what this script expects")
endif()
file(WRITE ${FOLDER}/TLParser.cpp "#include \"Children.h\"\n${source}")
