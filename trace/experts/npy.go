package experts

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	npyMagic   = "\x93NUMPY"
	npyMaxSide = 1 << 30 // bounds the sides and the count of numbers
)

// The header of an .npy file is a Python dictionary of these three members in any
// order (numpy's format, versions 1 to 3).
var (
	npyType  = regexp.MustCompile(`'descr':\s*'([^']*)'`)
	npyOrder = regexp.MustCompile(`'fortran_order':\s*(True|False)`)
	npyShape = regexp.MustCompile(`'shape':\s*\(([^)]*)\)`)
)

// DecodeNPY reads expert ids as vLLM returns them: an .npy file of shape
// [positions, layers, experts of a token], in unsigned or signed numbers of 1, 2 or
// 4 bytes (spec/vllm-cpu-live.md 4). Numbers below 0 are holes.
func DecodeNPY(file []byte) (*Table, error) {
	header, data, err := splitNPY(file)
	if err != nil {
		return nil, err
	}
	kind, shape, err := parseNPY(string(header))
	if err != nil {
		return nil, err
	}
	width := int(kind[2] - '0')
	count := 1
	for _, side := range shape {
		if side > 0 && count > npyMaxSide/side {
			return nil, fmt.Errorf("npy: shape %v, expected less than %d numbers", shape, npyMaxSide)
		}
		count *= side
	}
	if len(data) != count*width {
		return nil, fmt.Errorf("npy: %d bytes of data, expected %d for shape %v", len(data), count*width, shape)
	}
	t := &Table{Rows: shape[0], Layers: shape[1], TopK: shape[2], IDs: make([]uint16, count)}
	for i := range t.IDs {
		v := decodeNumber(data[i*width:], kind)
		switch {
		case v >= Hole:
			return nil, fmt.Errorf("npy: expert %d, expected less than %d", v, Hole)
		case v < 0:
			t.IDs[i] = Hole
		default:
			t.IDs[i] = uint16(v)
		}
	}
	return t, nil
}

// splitNPY parts the header from the numbers.
func splitNPY(file []byte) (header, data []byte, err error) {
	rest, ok := bytes.CutPrefix(file, []byte(npyMagic))
	if !ok || len(rest) < 4 {
		return nil, nil, fmt.Errorf("npy: %d bytes without the mark of an .npy file", len(file))
	}
	version, rest := rest[0], rest[2:]
	size := uint64(binary.LittleEndian.Uint16(rest))
	switch {
	case version == 1:
		rest = rest[2:]
	case version > 3 || version == 0 || len(rest) < 4:
		return nil, nil, fmt.Errorf("npy: version %d, expected 1 to 3", version)
	default:
		size, rest = uint64(binary.LittleEndian.Uint32(rest)), rest[4:]
	}
	if size > uint64(len(rest)) {
		return nil, nil, fmt.Errorf("npy: a header of %d bytes in a file of %d", size, len(file))
	}
	return rest[:size], rest[size:], nil
}

// parseNPY is the type of the numbers, such as "<u2", and the three sides.
func parseNPY(header string) (kind string, shape []int, err error) {
	find := func(re *regexp.Regexp) string {
		if m := re.FindStringSubmatch(header); m != nil {
			return m[1]
		}
		return ""
	}
	switch kind = find(npyType); kind {
	case "|u1", "|i1", "<u2", "<i2", "<u4", "<i4":
	default:
		return "", nil, fmt.Errorf("npy: numbers of type %q, expected integers of 1, 2 or 4 bytes", kind)
	}
	if order := find(npyOrder); order != "False" {
		return "", nil, fmt.Errorf("npy: fortran_order %q, expected False", order)
	}
	text := find(npyShape)
	for side := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(text), ","), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(side))
		if err != nil || n < 0 || n > npyMaxSide {
			return "", nil, fmt.Errorf("npy: shape (%s), expected three sides", text)
		}
		shape = append(shape, n)
	}
	if len(shape) != 3 {
		return "", nil, fmt.Errorf("npy: shape (%s), expected three sides", text)
	}
	return kind, shape, nil
}

// decodeNumber reads one number of a type that parseNPY allows.
func decodeNumber(b []byte, kind string) int64 {
	switch kind {
	case "|u1":
		return int64(b[0])
	case "|i1":
		return int64(int8(b[0]))
	case "<u2":
		return int64(binary.LittleEndian.Uint16(b))
	case "<i2":
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case "<u4":
		return int64(binary.LittleEndian.Uint32(b))
	}
	return int64(int32(binary.LittleEndian.Uint32(b)))
}

// AppendNPY appends the table as the package inside a server reads it: an .npy file of
// signed numbers of 2 bytes (4 if an id needs them), −1 for what is not known. A choice
// of which an id is missing, one layer of one position, is unknown as a whole: experts
// of a token are forced together or not at all.
func (t *Table) AppendNPY(dst []byte) []byte {
	width := 2
	for _, id := range t.IDs {
		if id > 1<<15-1 && id != Hole {
			width = 4
		}
	}
	header := fmt.Sprintf("{'descr': '<i%d', 'fortran_order': False, 'shape': (%d, %d, %d), }", width, t.Rows, t.Layers, t.TopK)
	const align, before = 64, len(npyMagic) + 4
	header += strings.Repeat(" ", align-1-(before+len(header))%align) + "\n"
	dst = append(append(dst, npyMagic...), 1, 0)
	dst = append(binary.LittleEndian.AppendUint16(dst, uint16(len(header))), header...)
	for choice := range t.Choices() {
		whole := !slices.Contains(choice, Hole)
		for _, id := range choice {
			number := int32(-1)
			if whole {
				number = int32(id)
			}
			if width == 2 {
				dst = binary.LittleEndian.AppendUint16(dst, uint16(number))
			} else {
				dst = binary.LittleEndian.AppendUint32(dst, uint32(number))
			}
		}
	}
	return dst
}

// Choices are the experts of each layer of each position, position by position.
func (t *Table) Choices() iter.Seq[[]uint16] {
	return func(yield func([]uint16) bool) {
		for i := 0; i < len(t.IDs); i += t.TopK {
			if !yield(t.IDs[i : i+t.TopK]) {
				return
			}
		}
	}
}
