package token

import (
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"
)

// Key names a full block: XXH3-64 (seed 1337) of the previous block's key and
// the block's local hash, 8 bytes little-endian each; the first block's key is
// its local hash (DESIGN.md 3, spec/engine.md 4.1).
type Key uint64

// Chain is the key of a block with the given local hash behind a block named
// prev.
func Chain(prev Key, local uint64) Key {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], uint64(prev))
	binary.LittleEndian.PutUint64(b[8:], local)
	return Key(xxh3.HashSeed(b[:], hashSeed))
}

// Keys appends the keys of the full blocks of s to dst.
func (s *Seq) Keys(dst []Key, blockSize int) []Key {
	return s.FirstKeys(dst, blockSize, math.MaxInt)
}

// FirstKeys appends the keys of the first full blocks of s, at most most, to dst.
func (s *Seq) FirstKeys(dst []Key, blockSize, most int) []Key {
	first := len(dst)
	s.blocks(blockSize, most, func(b *block, repeat int) {
		local := b.local()
		for range repeat {
			if len(dst) == first {
				dst = append(dst, Key(local))
			} else {
				dst = append(dst, Chain(dst[len(dst)-1], local))
			}
			local = b.next(local)
		}
	})
	return dst
}

// Words appends one word for each full block of s to dst. Given that all blocks
// before them are equal, two blocks hold the same tokens if and only if their
// words are equal (up to 64-bit hash collisions). A block inside one trace block
// is named by that block's id, without hashing.
func (s *Seq) Words(dst []uint64, blockSize int) []uint64 {
	if ids, each, ok := s.evenBlocks(blockSize); ok {
		for left := s.Len() / blockSize; left > 0; left -= each {
			for range min(each, left) {
				dst = append(dst, ids[0])
			}
			ids = ids[1:]
		}
		return dst
	}
	s.blocks(blockSize, math.MaxInt, func(b *block, repeat int) {
		w := b.word()
		for range repeat {
			dst = append(dst, w)
			w = b.nextWord(w)
		}
	})
	return dst
}

// evenBlocks are the ids of a sequence in which each id covers a whole number of
// blocks: the common case, which needs no cutting.
func (s *Seq) evenBlocks(blockSize int) (ids []uint64, each int, ok bool) {
	if s == nil || s.parent != nil || s.leaf.BlockIDs == nil || s.leaf.Scope != 0 || s.leaf.BlockSize%blockSize != 0 {
		return nil, 0, false
	}
	return s.leaf.BlockIDs, s.leaf.BlockSize / blockSize, true
}

// run is a stretch of tokens inside one block: n times the token of trace block
// id, or n tokens of a stream from position pos on, or explicit ids.
type run struct {
	kind      runKind
	scope, id uint64
	pos, n    int
	tokens    []uint32
}

type runKind uint8

const (
	constant runKind = iota // n times the same token
	stream                  // tokens pos, pos+1, … of a maker
	explicit                // token ids
)

// block collects the runs of one block.
type block struct {
	runs []run
	fill int
	buf  []byte
}

// add appends r, merging it with an equal neighbour.
func (b *block) add(r run) {
	b.fill += r.n
	if n := len(b.runs); n > 0 {
		if last := &b.runs[n-1]; last.kind == r.kind && last.scope == r.scope && last.id == r.id {
			switch {
			case r.kind == constant, r.kind == stream && last.pos+last.n == r.pos:
				last.n += r.n
				return
			}
		}
	}
	b.runs = append(b.runs, r)
}

// local is the block's local hash: explicit ids as 4 bytes each, a constant run
// as (id: 8 bytes, count: 4 bytes), a stream as (maker: 8, position: 4, count: 4),
// all little-endian; a scope stands in front of its run as 8 bytes.
func (b *block) local() uint64 {
	buf := b.buf[:0]
	for i := range b.runs {
		r := &b.runs[i]
		if r.kind == explicit {
			for _, t := range r.tokens {
				buf = binary.LittleEndian.AppendUint32(buf, t)
			}
			continue
		}
		if r.scope != 0 {
			buf = binary.LittleEndian.AppendUint64(buf, r.scope)
		}
		buf = binary.LittleEndian.AppendUint64(buf, r.id)
		if r.kind == stream {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(r.pos))
		}
		buf = binary.LittleEndian.AppendUint32(buf, uint32(r.n))
	}
	b.buf = buf
	return xxh3.HashSeed(buf, hashSeed)
}

// word is the block's content word.
func (b *block) word() uint64 {
	if len(b.runs) == 1 {
		switch r := &b.runs[0]; {
		case r.kind == constant && r.scope == 0:
			return r.id
		case r.kind == constant:
			return mix(r.scope + mix(r.id))
		case r.kind == stream:
			return mix(r.id + mix(uint64(r.pos)))
		}
	}
	return b.local()
}

// next moves a block that repeats on to its next instance; only a stream moves.
func (b *block) next(same uint64) uint64 {
	if r := &b.runs[0]; r.kind == stream {
		r.pos += r.n
		return b.local()
	}
	return same
}

func (b *block) nextWord(same uint64) uint64 {
	if r := &b.runs[0]; r.kind == stream {
		r.pos += r.n
		return b.word()
	}
	return same
}

// mix is the finaliser of SplitMix64: a bijection that spreads every bit.
func mix(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// blocks calls visit for the first full blocks of s, at most most, in order. A block
// that lies inside one run is visited once with the number of equal (constant) or
// consecutive (stream) blocks that follow in it.
func (s *Seq) blocks(size, most int, visit func(b *block, repeat int)) {
	if size <= 0 {
		panic("token: block size must be above 0")
	}
	var stack [8]part
	w := walker{size: size, visit: visit}
	left := min(most, s.Len()/size) * size
	for _, p := range s.parts(stack[:0]) {
		p.n = min(p.n, left)
		left -= p.n
		w.part(p)
	}
}

// walker cuts runs into blocks.
type walker struct {
	size  int
	visit func(*block, int)
	b     block
}

// part feeds one part of a sequence.
func (w *walker) part(p part) {
	switch l := p.leaf; {
	case l.BlockIDs != nil:
		left := p.n
		for _, id := range l.BlockIDs {
			n := min(left, l.BlockSize)
			w.run(run{kind: constant, scope: l.Scope, id: id, n: n})
			if left -= n; left == 0 {
				break
			}
		}
	case l.Tokens != nil:
		w.explicit(l.Tokens[:p.n])
	default:
		w.run(run{kind: stream, id: l.Stream, n: p.n})
	}
}

// run feeds a constant run or a stream.
func (w *walker) run(r run) {
	for r.n > 0 {
		if w.b.fill == 0 && r.n >= w.size {
			k := r.n / w.size
			one := r
			one.n = w.size
			w.b.runs = append(w.b.runs[:0], one)
			w.visit(&w.b, k)
			w.b.runs = w.b.runs[:0]
			r.n -= k * w.size
			if r.kind == stream {
				r.pos += k * w.size
			}
			continue
		}
		piece := r
		piece.n = min(r.n, w.size-w.b.fill)
		w.b.add(piece)
		r.n -= piece.n
		if r.kind == stream {
			r.pos += piece.n
		}
		w.flush()
	}
}

// explicit feeds token ids.
func (w *walker) explicit(ids []uint32) {
	for len(ids) > 0 {
		n := min(len(ids), w.size-w.b.fill)
		w.b.add(run{kind: explicit, n: n, tokens: ids[:n]})
		ids = ids[n:]
		w.flush()
	}
}

// flush visits the block if it is full.
func (w *walker) flush() {
	if w.b.fill == w.size {
		w.visit(&w.b, 1)
		w.b.runs = w.b.runs[:0]
		w.b.fill = 0
	}
}
