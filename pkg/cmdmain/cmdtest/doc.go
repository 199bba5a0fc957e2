// Package cmdtest holds what the tests of commands share. It is imported by
// tests only.
//
// Help texts are golden files: testdata/help/<command>[-<verb>…].txt beside the
// test. The program does not read them; they make a changed flag a visible
// diff. UPDATE=1 in the environment writes them anew.
package cmdtest
