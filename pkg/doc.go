// Package pkg holds no code. Its tests hold the rules that concern the whole
// module: which package may import which and why, how long files and functions
// may get, what must be documented and what must not occur.
package pkg
