//go:build e2e

package e2e

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// npy is a route table [positions, layers, top_k] as it stands in an .npy file.
type npy struct {
	shape [3]int
	ids   []int // row-major
}

var npyHeader = regexp.MustCompile(`'descr': '([<|][iu]\d)', 'fortran_order': False, 'shape': \(([\d, ]+)\)`)

func parseNPY(raw []byte) (*npy, error) {
	if len(raw) < 10 || string(raw[:6]) != "\x93NUMPY" || raw[6] != 1 {
		return nil, fmt.Errorf("not an npy file of version 1: % x", raw[:min(10, len(raw))])
	}
	start := 10 + int(binary.LittleEndian.Uint16(raw[8:]))
	if start > len(raw) {
		return nil, fmt.Errorf("npy header of %d bytes, file of %d", start, len(raw))
	}
	m := npyHeader.FindStringSubmatch(string(raw[10:start]))
	if m == nil {
		return nil, fmt.Errorf("npy header %q is of no known kind", raw[10:start])
	}
	a, n := &npy{}, 1
	dims := strings.Split(m[2], ",")
	if len(dims) != 3 {
		return nil, fmt.Errorf("npy of shape (%s), expected three dimensions", m[2])
	}
	for i, d := range dims {
		v, err := strconv.Atoi(strings.TrimSpace(d))
		if err != nil {
			return nil, err
		}
		a.shape[i], n = v, n*v
	}
	return a, a.parseIDs(m[1], raw[start:], n)
}

func (a *npy) parseIDs(kind string, data []byte, n int) error {
	width := int(kind[2] - '0')
	if len(data) != n*width {
		return fmt.Errorf("npy of %d values of %s has %d bytes", n, kind, len(data))
	}
	a.ids = make([]int, n)
	for i := range a.ids {
		switch b := data[i*width:]; kind[1:] {
		case "u1":
			a.ids[i] = int(b[0])
		case "u2":
			a.ids[i] = int(binary.LittleEndian.Uint16(b))
		case "i2":
			a.ids[i] = int(int16(binary.LittleEndian.Uint16(b)))
		default:
			return fmt.Errorf("npy of %s", kind)
		}
	}
	return nil
}

// write puts the table where the server finds it by name.
func (a *npy) write(s *Server, name string) error {
	header := fmt.Sprintf("{'descr': '<i2', 'fortran_order': False, 'shape': (%d, %d, %d), }", a.shape[0], a.shape[1], a.shape[2])
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	raw := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	raw = append(raw, header...)
	for _, id := range a.ids {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(int16(id)))
	}
	return os.WriteFile(filepath.Join(s.Routes, name+".npy"), raw, 0o644)
}

// recorded waits for the table that the plug-in keeps when a call has left the engine.
func recorded(s *Server, name string) (*npy, error) {
	deadline := time.Now().Add(20 * time.Second)
	for {
		raw, err := os.ReadFile(filepath.Join(s.Routes, name+".npy"))
		if err == nil {
			return parseNPY(raw)
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("routes were not kept: %w", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// row is the experts of one layer at one position.
func (a *npy) row(position, layer int) []int {
	at := (position*a.shape[1] + layer) * a.shape[2]
	return a.ids[at : at+a.shape[2]]
}

// equal compares shape and ids.
func (a *npy) equal(b *npy) bool {
	return a.shape == b.shape && slices.Equal(a.ids, b.ids)
}
