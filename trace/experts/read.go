package experts

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/reprise-sim/reprise/trace"
)

// maxHeader bounds the header of a file, as the format's own readers do.
const maxHeader = 100 << 20

// File is a file of experts that is open for reading. Several goroutines may read
// it at once.
type File struct {
	path    string
	data    io.ReaderAt
	base    int64 // where the data begin
	tensors map[string]tensor
	close   func() error
}

// Open opens a file of experts, plain or compressed (zstd; known by its first
// bytes), and checks its header.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var magic [4]byte
	if n, _ := f.ReadAt(magic[:], 0); bytes.Equal(magic[:n], []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		if f, err = unpacked(f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	file, err := read(f, info.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	file.path, file.close = path, f.Close
	return file, nil
}

// unpacked is the plain bytes of a compressed file, in a file without a name.
func unpacked(f *os.File) (*os.File, error) {
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	t, err := os.CreateTemp("", "reprise-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(t.Name()) // a system that refuses cleans its temporary folder itself
	if _, err := io.Copy(t, z); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// read reads the header of a file of size bytes.
func read(r io.ReaderAt, size int64) (*File, error) {
	var length [8]byte
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return nil, fmt.Errorf("%d bytes, expected a safetensors file", size)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("a header of %d bytes in a file of %d", n, size)
	}
	text := make([]byte, n)
	if _, err := r.ReadAt(text, 8); err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	delete(members, metadata)
	f := &File{data: r, base: 8 + int64(n), tensors: map[string]tensor{}}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		t, err := parseTensor(members[key], size-f.base)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", key, err)
		}
		f.tensors[key] = t
	}
	return f, nil
}

// parseTensor reads how a tensor is described and makes sure that its numbers are
// there.
func parseTensor(text []byte, room int64) (t tensor, err error) {
	if err := json.Unmarshal(text, &t); err != nil {
		return t, err
	}
	width, ok := widths[t.DType]
	if !ok {
		return t, fmt.Errorf("dtype %q, expected U8, U16 or U32", t.DType)
	}
	if len(t.Shape) != 3 {
		return t, fmt.Errorf("shape %v, expected [positions, layers, experts]", t.Shape)
	}
	size := width
	for _, side := range t.Shape {
		if side < 0 || side > 0 && size > room/int64(side) {
			return t, fmt.Errorf("shape %v, expected at most the %d bytes of the file", t.Shape, room)
		}
		size *= int64(side)
	}
	if from, to := t.Offsets[0], t.Offsets[1]; from < 0 || to > room || to-from != size {
		return t, fmt.Errorf("data_offsets %v, expected %d bytes inside %d", t.Offsets, size, room)
	}
	return t, nil
}

// widths are the bytes of an id.
var widths = map[string]int64{"U8": 1, "U16": 2, "U32": 4}

// Close closes the file.
func (f *File) Close() error { return f.close() }

// Keys are the keys of all tables, in order.
func (f *File) Keys() []string { return slices.Sorted(maps.Keys(f.tensors)) }

// Table reads the rows under a key. What the trace calls holes are ids as good as
// any here.
func (f *File) Table(key string) (*Table, error) {
	d, ok := f.tensors[key]
	if !ok {
		return nil, fmt.Errorf("%s: experts of %q: there are none", f.path, key)
	}
	data := make([]byte, d.Offsets[1]-d.Offsets[0])
	if _, err := f.data.ReadAt(data, f.base+d.Offsets[0]); err != nil {
		return nil, fmt.Errorf("%s: experts of %q: %w", f.path, key, err)
	}
	t := &Table{Rows: d.Shape[0], Layers: d.Shape[1], TopK: d.Shape[2]}
	t.IDs = make([]uint16, t.Rows*t.rowLen())
	kind := map[string]string{"U8": "|u1", "U16": "<u2", "U32": "<u4"}[d.DType]
	for i := range t.IDs {
		v := decodeNumber(data[int64(i)*widths[d.DType]:], kind)
		if v >= Hole {
			return nil, fmt.Errorf("%s: experts of %q: expert %d, expected less than %d", f.path, key, v, Hole)
		}
		t.IDs[i] = uint16(v)
	}
	return t, nil
}

// Own reads the rows of a call that has experts, with its holes as such. The first
// row is that of position n.Details.Experts.From.
func (f *File) Own(n *trace.Node) (*Table, error) {
	e := n.Details.Experts
	t, err := f.Table(e.Key)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", n.ID, err)
	}
	if end := int(e.From) + t.Rows; end > Positions(n) {
		return nil, fmt.Errorf("node %s: experts of positions %d to %d, expected %d positions", n.ID, e.From, end, Positions(n))
	}
	for _, h := range e.Holes {
		for p := max(h[0], e.From); p < min(h[1], e.From+int32(t.Rows)); p++ {
			for i := range t.Row(int(p - e.From)) {
				t.Row(int(p - e.From))[i] = Hole
			}
		}
	}
	return t, nil
}

// Whole is the experts of all positions that a call computes: its own rows, then for
// what it has none those of the calls that its prompt extends, as far as it keeps
// their tokens. It is nil if none of them has any.
func (f *File) Whole(t *trace.Task, node int) (*Table, error) {
	var whole *Table
	upTo := Positions(&t.Nodes[node])
	for i := int32(node); i >= 0; i = t.Nodes[i].Extends {
		n := &t.Nodes[i]
		if n.Details != nil && n.Details.Experts != nil {
			own, err := f.Own(n)
			if err != nil {
				return nil, err
			}
			if whole == nil {
				whole = NewTable(Positions(&t.Nodes[node]), own.Layers, own.TopK)
			}
			if err := whole.sameShape(own); err != nil {
				return nil, fmt.Errorf("node %s: %w", n.ID, err)
			}
			whole.fill(own, int(n.Details.Experts.From), upTo)
		}
		if n.Extends >= 0 {
			upTo = min(upTo, int(n.Keep))
		}
	}
	return whole, nil
}

// fill puts the rows of u, of which the first belongs to position from, into holes
// of t before position upTo.
func (t *Table) fill(u *Table, from, upTo int) {
	n := t.rowLen()
	for i := from * n; i < min((from+u.Rows)*n, upTo*n); i++ {
		if t.IDs[i] == Hole {
			t.IDs[i] = u.IDs[i-from*n]
		}
	}
}
