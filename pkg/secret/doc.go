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
//
// # Redaction (S5)
//
// A [Redactor] takes secrets out of whatever is kept or shown: the strings,
// numbers and member names of JSON, each by itself, and texts. Each becomes
// [redacted:RULE]; where several rules meet, the first of these is named:
//
//	value    a value of 6 bytes or more that the Redactor was told of, and each
//	         line of one, as it is, in base64, base64url or hexadecimal, with
//	         percent signs or backslash escapes, alone or inside of more
//	member   what stands under a name that, without _ and - and case, ends in
//	         password passwd secret token apikey accesskey privatekey authorization
//	         cookie credential passphrase, or the plural (but tokens: a number);
//	         null, true, false and "" stay
//	shape    gh?_ github_pat_ glpat- sk- xox?- AKIA ASIA AIza pst_, a JSON web token,
//	         PEM, and the user:pass of //user:pass@
//	query    what NAME= gives to such a name, in a URL or elsewhere, and the rest of
//	         a line behind Authorization:, Cookie: and X-Api-Key:
//
// A string of JSON that holds JSON loses its secret members as well. Marks in the
// text stay what they are, so that redacting twice is redacting once. JSON that is
// cut to a size is cut after that: [cut:N] stands behind the beginning of a
// string with N bytes missing and for N elements of an array, and a member
// "[cut]":N for N members of an object.
//
// # The key of an installation
//
// The file state/key is 32 random bytes, 0600. It is made once, under the lock
// key.lock, by the first who needs it. Hashes that must not be guessed are
// HMACs under it. Who removes it makes the hashes of before and after differ.
package secret
