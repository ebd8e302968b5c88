package experts

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Suffix is what the name of a trace's file of experts ends in, behind the whole
// name of the trace.
const Suffix = ".experts.safetensors"

// Path is the file of experts that belongs to a trace.
func Path(tracePath string) string { return tracePath + Suffix }

// The mark in the metadata of a file.
const (
	formatKey  = "format"
	formatName = "reprise.experts"
	metadata   = "__metadata__"
)

// tensor is a tensor as the header of a safetensors file describes it.
type tensor struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// Writer writes a file of experts. Tensors are gathered in a file without a name;
// the file appears, complete, when the writer is closed.
type Writer struct {
	path    string
	data    *os.File
	buf     *bufio.Writer
	size    int64
	tensors map[string]tensor
	layers  *Table // the shape that all tables have
}

// Create starts a file. A path that ends in .zst is compressed.
func Create(path string) (*Writer, error) {
	data, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	return &Writer{path: path, data: data, buf: bufio.NewWriterSize(data, 1<<16), tensors: map[string]tensor{}}, nil
}

// Add adds the rows of a call under its key. Ids are stored in 1 or 2 bytes, as the
// largest needs; a hole is stored as 0, and the trace says where holes are.
func (w *Writer) Add(key string, t *Table) error {
	if _, ok := w.tensors[key]; ok || key == metadata {
		return fmt.Errorf("experts: key %q is taken", key)
	}
	if w.layers == nil {
		w.layers = &Table{Layers: t.Layers, TopK: t.TopK}
	}
	if err := w.layers.sameShape(t); err != nil {
		return fmt.Errorf("key %q: %w", key, err)
	}
	dtype, width := "U8", 1
	for _, id := range t.IDs {
		if id > 255 && id != Hole {
			dtype, width = "U16", 2
			break
		}
	}
	for _, id := range t.IDs {
		if id == Hole {
			id = 0
		}
		w.buf.WriteByte(byte(id)) // the buffer keeps its first error
		if width == 2 {
			w.buf.WriteByte(byte(id >> 8))
		}
	}
	end := w.size + int64(len(t.IDs)*width)
	w.tensors[key] = tensor{dtype, []int{t.Rows, t.Layers, t.TopK}, [2]int64{w.size, end}}
	w.size = end
	if w.buf.Available() < 1<<12 {
		return w.buf.Flush()
	}
	return nil
}

// Close writes the file.
func (w *Writer) Close() error {
	err := w.buf.Flush()
	if err == nil {
		err = w.write()
	}
	return errors.Join(err, w.drop())
}

// Abort drops what has been added.
func (w *Writer) Abort() error { return w.drop() }

func (w *Writer) drop() error { return errors.Join(w.data.Close(), os.Remove(w.data.Name())) }

// write puts the header and the data into the file.
func (w *Writer) write() error {
	out, err := os.CreateTemp(filepath.Dir(w.path), "."+filepath.Base(w.path)+".*")
	if err != nil {
		return err
	}
	if err := w.copyTo(out); err != nil {
		return errors.Join(err, out.Close(), os.Remove(out.Name()))
	}
	if err := out.Close(); err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return os.Rename(out.Name(), w.path)
}

// copyTo writes the whole file to out.
func (w *Writer) copyTo(out *os.File) error {
	head, err := w.header()
	if err != nil {
		return err
	}
	if _, err := w.data.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := pack(out, io.MultiReader(strings.NewReader(head), w.data), strings.HasSuffix(w.path, ".zst")); err != nil {
		return err
	}
	return out.Sync()
}

// header is the head of a safetensors file: its length in 8 bytes, then JSON, padded
// so that the data begin at a multiple of 8.
func (w *Writer) header() (string, error) {
	members := map[string]any{metadata: map[string]string{formatKey: formatName, "version": "1"}}
	for key, t := range w.tensors {
		members[key] = t
	}
	text, err := json.Marshal(members)
	if err != nil {
		return "", err
	}
	pad := strings.Repeat(" ", (8-len(text)%8)%8)
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(text)+len(pad)))) + string(text) + pad, nil
}

// pack copies src to dst, compressed if asked to.
func pack(dst io.Writer, src io.Reader, compress bool) error {
	if !compress {
		_, err := io.Copy(dst, src)
		return err
	}
	z, err := zstd.NewWriter(dst)
	if err != nil {
		return err
	}
	if _, err := io.Copy(z, src); err != nil {
		return errors.Join(err, z.Close())
	}
	return z.Close()
}
