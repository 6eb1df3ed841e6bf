// The grammar of TL. Every decision is LL(1): no prediction machinery runs or is built, so parsing is linear and ambiguity
// is impossible. Generation fails when a change breaks that (Generate.cmake). What would need more look-ahead is decided
// before the parser, by frontend/TokenFilter (which newlines end statements, strings with holes, contextual keywords,
// balanced brackets), or after it, by frontend/AstBuilder (operator precedence, targets of assignments).
// The lexer reads bytes: characters beyond ASCII are runs of bytes >= 0x80, legal in strings and comments.
grammar TL;

// Made by the token filter only.
tokens {
  PARAM, DEVICE, TEST, BENCH,                                            // names that open a declaration
  AT_LBRACK,                                                             // the bracket of `@cuda[i]`
  LEADING_MINUS,                                                         // one that may start a statement
  STR_OPEN, STR_TEXT, HOLE_OPEN, HOLE_FORMAT, HOLE_CLOSE, STR_CLOSE      // a string with holes
}

// ---- files and statements ----

file       : statements EOF ;
statements : statement? (NL statement?)* ;
block      : '{' statements '}' ;

statement
  : (annotation NL?)*
    ( importDecl | constDecl | paramDecl | deviceDecl | typeDecl | structDecl | fnDecl | testDecl
    | letStmt | varStmt | forStmt | whileStmt | jumpStmt | returnStmt | assertStmt
    | ifExpr | block | exprStmt )
  ;

annotation : '@' ( placement | AUTOCAST '(' expr ')' ) ;
placement  : DEVICE_LIT | path (':' INT | AT_LBRACK expr ']')? ;
path       : NAME ('.' NAME)* ;

// ---- declarations ----

importDecl : IMPORT path (':' NAME (',' NAME?)*)? ;
constDecl  : CONST NAME (':' type)? '=' expr ;
paramDecl  : PARAM NAME (':' type)? '=' expr ;  // one without a type is reported later
deviceDecl : DEVICE NAME '=' place (OR place)* ;
place      : DEVICE_LIT | NAME (':' INT | '[' expr ('..' expr)? ']')? ;  // `..` is for meshes
typeDecl   : TYPE NAME generics? '=' type ;
structDecl : STRUCT NAME generics? '{' (field ((',' | NL) field?)*)? '}' ;
field      : STATE? NAME ':' type ;
fnDecl     : FN NAME generics? '(' (fnParam (',' fnParam?)*)? ')' ('->' type)? ('=' expr | block) ;
fnParam    : STATIC? NAME (':' type)? ('=' expr)? ;
generics   : '[' generic (',' generic?)* ']' ;
generic    : '...'? NAME (':' (NAME | FN | DEVICE))? ('=' type)? ;
testDecl   : (TEST | BENCH) STRING block ;

// Types, dims and type arguments are one rule: `f32[B, 2 * H] @gpu`, `[Block[D]; 12]`, `(f32, i64[N])`, `[...S]`.
type       : typeTerm (('+' | '-' | '*' | '//') typeTerm)* ('@' placement)? ;
typeTerm   : '-'? ( INT | DEVICE_LIT | path typeArgs? | '(' (type (',' type?)*)? ')' | '[' (type ';' type | '...' NAME) ']' ) ;
typeArgs   : '[' (typeArg (',' typeArg?)*)? ']' ;
typeArg    : '...' NAME | type ;

// ---- statements ----

letStmt    : LET pattern (':' type)? '=' expr ;
varStmt    : VAR pattern (':' type)? '=' expr ;
pattern    : NAME | '(' pattern (',' pattern?)* ')' ;
forStmt    : FOR pattern IN STATIC? head ('..' head)? (BY head)? block ;
whileStmt  : WHILE head block ;
jumpStmt   : BREAK | CONTINUE ;
returnStmt : RETURN expr? ;
assertStmt : ASSERT expr (',' expr)? ;
exprStmt   : first (binary operand)* (assignOp expr)? ;
assignOp   : '=' | '+=' | '-=' | '*=' | '/=' | '//=' | '%=' | '@=' | '**=' ;

// ---- expressions ----
// A flat list of operands and operators. A lambda is a whole expr, never an operand: its body runs to the end. `head` is
// a condition or loop bound, whose operands take no bare struct literal. `first` opens a statement, where `@d`, `if` and
// `{` belong to the statement, and `-` stands only where it cannot be meant to continue the line before.

expr        : lambda | operand (binary operand)* ;
head        : headOperand (binary headOperand)* ;
first       : atom (postfix | fields)* | (NOT | LEADING_MINUS) operand ;
operand     : prefix* (atom | braced) (postfix | fields)* ;
headOperand : prefix* (atom | braced) postfix* ;
prefix      : '-' | NOT ;
binary      : '|>' | OR | AND | '==' | '!=' | '<' | '<=' | '>' | '>=' | '+' | '-' | '*' | '/' | '//' | '%' | '@' | '**' ;
braced      : ifExpr | annotation* block ;

atom
  : NAME | INT | FLOAT | TRUE | FALSE | DEVICE_LIT | string
  | '(' (expr (',' expr?)*)? ')'
  | '[' (expr (',' expr?)*)? ']'
  ;

ifExpr      : IF head block (ELSE (IF head block | block))* ;            // flat, so a long chain costs no stack
lambda      : ('||' | '|' lambdaParam (',' lambdaParam?)* '|') expr ;
lambdaParam : pattern (':' type)? ;

postfix     : '.' memberName | '(' (arg (',' arg?)*)? ')' | ('[' | AT_LBRACK) subscript (',' subscript?)* ']' ;
memberName  : NAME | INT | FN | NEW | BY | IN | TYPE | STATIC | STATE ;  // after a dot a keyword is a name
arg         : expr (':' expr | '..' expr)? ;                             // `NAME :` names it; a range stands in `rev`
fields      : '{' (fieldInit ((',' | NL) fieldInit?)*)? '}' ;
fieldInit   : NAME ':' expr ;
subscript   : '...' | NEW | expr (sliceTail | ':+' expr)? | sliceTail ;
sliceTail   : ':' expr? (':' expr?)? ;

string      : STRING | STR_OPEN (STR_TEXT | HOLE_OPEN expr HOLE_FORMAT? HOLE_CLOSE)* STR_CLOSE ;

// ---- tokens ----

LET: 'let'; VAR: 'var'; FN: 'fn'; STRUCT: 'struct'; CONST: 'const'; IMPORT: 'import'; IF: 'if'; ELSE: 'else';
FOR: 'for'; IN: 'in'; BY: 'by'; WHILE: 'while'; BREAK: 'break'; CONTINUE: 'continue'; RETURN: 'return';
AND: 'and'; OR: 'or'; NOT: 'not'; TRUE: 'true'; FALSE: 'false'; NEW: 'new'; ASSERT: 'assert'; AUTOCAST: 'autocast';
TYPE: 'type'; STATIC: 'static'; STATE: 'state';

LBRACE: '{'; RBRACE: '}'; LPAREN: '('; RPAREN: ')'; LBRACK: '['; RBRACK: ']';
COMMA: ','; COLON: ':'; SEMI: ';'; DOT: '.'; DOTS: '..'; ELLIPSIS: '...'; COLON_PLUS: ':+'; ARROW: '->';
PIPE: '|>'; BAR: '|'; BARBAR: '||'; AT: '@'; STARSTAR: '**'; STAR: '*'; SLASH: '/'; SLASHSLASH: '//'; PERCENT: '%';
PLUS: '+'; MINUS: '-'; EQ: '=='; NE: '!='; LE: '<='; GE: '>='; LT: '<'; GT: '>'; ASSIGN: '=';
ADD_EQ: '+='; SUB_EQ: '-='; MUL_EQ: '*='; DIV_EQ: '/='; FLOOR_EQ: '//='; MOD_EQ: '%='; AT_EQ: '@='; POW_EQ: '**=';

DEVICE_LIT : 'cuda:' [0-9]+ ;
NAME       : [A-Za-z_] [A-Za-z_0-9]* ;
INT        : DIGITS | '0x' [0-9a-fA-F] ('_'? [0-9a-fA-F])* ;
FLOAT      : DIGITS ('.' DIGITS EXPONENT? | EXPONENT) ;
BAD_NUMBER : [0-9] [0-9A-Za-z_]* | DIGITS '.' [0-9] [0-9A-Za-z_]* ;
STRING     : '"' STRING_BYTE* '"' ;
BAD_STRING : '"' STRING_BYTE* '\\'? ;                                    // ends at its line's end
NL         : '\r'? '\n' ;
DOC        : '##' ~[\r\n]* -> channel(HIDDEN) ;
COMMENT    : '#' ~[\r\n]* -> skip ;
SPACE      : [ \t\f]+ -> skip ;
BAD_CHAR   : '\u007F'+ | '&&' | . ;                                       // 7F: a byte that is not ASCII

fragment DIGITS      : [0-9] ('_'? [0-9])* ;
fragment EXPONENT    : [eE] [+-]? [0-9]+ ;
fragment STRING_BYTE : ~["\\\r\n] | '\\' ~[\r\n] ;
