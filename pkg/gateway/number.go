package gateway

import (
	"fmt"
	"math"
	"strconv"

	"postern/pkg/wire"
)

// numberArgument is a whole number from least on, or otherwise where it was not
// given. Models write 5.0 and "5" as well.
func numberArgument(raw []byte, at wire.Span, name string, least, otherwise int) (n int, problem string) {
	if !at.Ok() {
		return otherwise, ""
	}
	text := string(at.Of(raw))
	if s, err := wire.Unquote(at.Of(raw)); err == nil {
		text = s
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || f < float64(least) || f > math.MaxInt32 {
		return 0, fmt.Sprintf("%s is a whole number, %d or more", name, least)
	}
	return int(f), ""
}
