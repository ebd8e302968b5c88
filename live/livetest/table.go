package livetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// table is experts by position, layer and rank: −1 where the model decides.
type table struct {
	shape [3]int
	ids   []int16
}

// at is the place of the first expert of a position in a layer.
func (t *table) at(position, layer int) int { return (position*t.shape[1] + layer) * t.shape[2] }

// forced counts the choices, positions × layers, that are given.
func (t *table) forced() (n int) {
	for i := 0; i < len(t.ids); i += t.shape[2] {
		if t.ids[i] >= 0 {
			n++
		}
	}
	return n
}

// used are the experts of a call: those of its table, else what the model chooses.
func (s *Server) used(j *job, written int) *table {
	e := s.options.Experts
	t := &table{shape: [3]int{len(j.prompt) + written - 1, e.Layers, e.TopK}}
	for p := range t.shape[0] {
		for l := range e.Layers {
			for k := range e.TopK {
				t.ids = append(t.ids, int16((p*7+l*3+k)%e.Count))
			}
			if at := t.at(p, l); j.routes != nil && at < len(j.routes.ids) && j.routes.ids[at] >= 0 {
				copy(t.ids[at:at+e.TopK], j.routes.ids[at:])
			}
		}
	}
	if p := j.faults.WrongExpert; p > 0 && p <= t.shape[0] {
		t.ids[t.at(p-1, 0)] = int16((int(t.ids[t.at(p-1, 0)]) + 1) % e.Count)
	}
	return t
}

// npy is the table as numpy has it, one byte an expert.
func (t *table) npy() []byte {
	header := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d, %d), }", t.shape[0], t.shape[1], t.shape[2])
	header += strings.Repeat(" ", 63-(len(header)+10)%64) + "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	out = append(out, header...)
	for _, id := range t.ids {
		out = append(out, byte(id))
	}
	return out
}

var shapeText = regexp.MustCompile(`'descr': '([^']+)'.*'shape': \((\d+), (\d+), (\d+)\)`)

// readTable reads a table of 16-bit integers from a folder.
func readTable(dir, name string) (*table, error) {
	raw, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)+".npy"))
	if err != nil {
		return nil, err
	}
	if len(raw) < 10 || !bytes.HasPrefix(raw, []byte("\x93NUMPY\x01\x00")) {
		return nil, fmt.Errorf("no .npy file of version 1")
	}
	end := 10 + int(binary.LittleEndian.Uint16(raw[8:]))
	m := shapeText.FindSubmatch(raw[10:min(end, len(raw))])
	if m == nil || string(m[1]) != "<i2" {
		return nil, fmt.Errorf("no table of 16-bit integers")
	}
	t := &table{}
	for i := range t.shape {
		if t.shape[i], err = strconv.Atoi(string(m[i+2])); err != nil {
			return nil, err
		}
	}
	for data := raw[end:]; len(data) >= 2; data = data[2:] {
		t.ids = append(t.ids, int16(binary.LittleEndian.Uint16(data)))
	}
	if len(t.ids) != t.shape[0]*t.shape[1]*t.shape[2] {
		return nil, fmt.Errorf("%d ids for the shape %v", len(t.ids), t.shape)
	}
	return t, nil
}
