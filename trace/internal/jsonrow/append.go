package jsonrow

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendFloat appends the shortest text that reads back to f, which has to be
// finite.
func AppendFloat(dst []byte, f float64) []byte {
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// AppendText appends s as a string in quotes. What is not valid UTF-8 becomes
// U+FFFD.
func AppendText(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// appendList appends numbers as an array.
func appendList[T Number](dst []byte, ns []T) []byte {
	dst = append(dst, '[')
	for i, n := range ns {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n < 0 {
			dst = strconv.AppendInt(dst, int64(n), 10)
		} else {
			dst = strconv.AppendUint(dst, uint64(n), 10)
		}
	}
	return append(dst, ']')
}

// appendRaw appends a JSON value without the spaces between its tokens, so that
// it stays on one line.
func appendRaw(dst []byte, raw json.RawMessage) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	if err := json.Compact(buf, raw); err != nil {
		return dst, err
	}
	return buf.Bytes(), nil
}

// Plural is n things.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
