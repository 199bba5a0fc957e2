// Package secret owns references to values that do not stand in a
// configuration file: the grammar of "${NAME}", where a name's value may come
// from, the files and commands that hold values, and which variables a child
// process inherits. It starts a process only for a `cmd:` entry that the
// operator wrote. A value never appears in an error of this package (C31).
//
// # References (C30)
//
// A template is text with references in it:
//
//	${NAME}            the value of NAME; missing is an error, never ""
//	${NAME:-default}   the value of NAME, or the default when NAME is missing;
//	                   the default may be empty and may itself hold references
//	$$                 one dollar sign
//
// A default ends at its first closing brace. NAME is [A-Za-z_][A-Za-z0-9_]*. Every other dollar sign is a *SyntaxError
// that says to write $$: shell syntax such as $HOME, $(cmd) or ${x%/} is
// neither run nor passed on by accident. Backticks and % mean nothing.
//
// # Environment files
//
// One NAME=value a line, at most 64 KiB and 256 names:
//
//	# a comment, also after a blank behind an unquoted value
//	NAME=value            blanks around the value are dropped
//	export NAME=value     the word export is allowed and ignored
//	NAME='as it stands'   no escapes
//	NAME="a \"b\" \n c"   escapes \\ \" \n \r \t \$; others are an error
//
// Values are not expanded again. A name given twice is an error.
//
// # Entries of `secrets:`
//
//	cmd:ARGV…   split at blanks, with '…' and "…" around arguments and \ before
//	            one character; run without a shell, 10 s, 64 KiB of output;
//	            one newline at the end is dropped
//	file:PATH   an absolute path or ~/…; a regular file of ours that nobody else
//	            may write or read; one newline at the end is dropped
package secret
