package catalog

import (
	"strings"
	"unicode"

	"postern/pkg/config"
)

// words calls add with the words of text in lower case: runs of letters and
// digits, taken apart at _ - . / and everything else that is neither, where
// lower case turns into upper case, before the last letter of a run of capitals
// (HTTPServer is http and server), and between letters and digits. What was
// taken apart only by case and digits is a word as a whole too. Words past
// config.MaxWordBytes are cut. It ends when add returns false.
func words(text string, add func(word string) bool) {
	for text != "" {
		start := strings.IndexFunc(text, wordRune)
		if start < 0 {
			return
		}
		text = text[start:]
		end := strings.IndexFunc(text, func(r rune) bool { return !wordRune(r) })
		if end < 0 {
			end = len(text)
		}
		if !run(text[:end], add) {
			return
		}
		text = text[end:]
	}
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// run takes one run of letters and digits apart.
func run(text string, add func(string) bool) bool {
	start, previous, before := 0, rune(0), 0 // before: where previous stands
	for i, r := range text {
		switch {
		case i == 0:
		case unicode.IsDigit(r) != unicode.IsDigit(previous), unicode.IsUpper(r) && unicode.IsLower(previous):
			if !add(lower(text[start:i])) {
				return false
			}
			start = i
		case unicode.IsLower(r) && unicode.IsUpper(previous) && before > start:
			if !add(lower(text[start:before])) {
				return false
			}
			start = before
		}
		previous, before = r, i
	}
	if !add(lower(text[start:])) {
		return false
	}
	return start == 0 || add(lower(text))
}

func lower(word string) string {
	if len(word) > config.MaxWordBytes {
		word = strings.ToValidUTF8(word[:config.MaxWordBytes], "")
	}
	return strings.ToLower(word)
}

// compound is a name without what separates its words: read_file and readFile
// are readfile.
func compound(name string) string {
	return lower(strings.Map(func(r rune) rune {
		if wordRune(r) {
			return r
		}
		return -1
	}, name))
}
